import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, problem, sha256Hex } from '../../core/kit/index.ts'
import { failureMemoryMs, knownNetworkMs, lockSubject, maxFailures, maxPendingMs, networkOf } from '../../core/sessions/index.ts'
import type { Logger } from '../../node/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { WaitingLogins } from './waiting-logins.ts'

/**
 * One try at a password, counted while it is looked at: of a hundred at once ten are. `counter` is the network where the user is known from it,
 * else empty: strangers share one counter, and cannot lock a user out of a network of their own. `until` is when a failure of it is forgotten,
 * counted from its beginning: how long the chat server looked at the password would tell whether it knows the name.
 */
export type Attempt = Readonly<{ subject: string; network: string; counter: string; until: string }>

type Deps = Readonly<{ db: DbOrTx; clock: Clock }>
type Waiting = Readonly<{ waiting: WaitingLogins }>
type Wanted = Readonly<{ lockSubject: string; address: string; signal?: AbortSignal | undefined }>

/** While ten are under way, the next waits for what becomes of them: it asks soon, then less and less often, because many may wait. */
const [firstStepMs, longestStepMs, longestWaitMs] = [50, 500, 20_000]

/** No sooner than some of those who wait are through. */
const crowdedSeconds = 5
const crowded = `too many logins wait for others of the same account to end: log in again in ${crowdedSeconds} s`

/**
 * Takes one of the ten places. Throws ACCOUNT_LOCKED once ten failures fill them, whoever that name is and whatever the password; such tries
 * are not counted. Throws UNAVAILABLE when the ten under way take too long, or too many
 * wait for them already.
 */
export async function reserveAttempt(deps: Deps & Waiting, { lockSubject: of, address, signal }: Wanted): Promise<Attempt> {
  const [subject, network] = [sha256Hex(of), networkOf(address)]
  const counter = (await isKnown(deps, subject, network)) ? network : ''
  const came = deps.clock.now()
  const once = async (): Promise<Attempt | undefined> => {
    const attempt = { subject, network, counter, until: isoIn(deps.clock, failureMemoryMs) }
    if (await takePlace(deps, attempt)) return attempt
    await refuseLocked(deps, attempt, came)
    return undefined
  }
  const first = await once()
  if (first) return first
  const waiting = deps.waiting.wait(subject, () => keepAsking(deps, once, signal))
  if (!waiting) throw problem('UNAVAILABLE', crowded, { retryAfterSeconds: crowdedSeconds })
  const attempt = await waiting
  if (attempt) return attempt
  throw problem('UNAVAILABLE', 'ten logins of this account are under way and do not end: try again in a moment', { retryAfterSeconds: 1 })
}

/** Until there is a place, it takes too long, or whoever asked has left. */
async function keepAsking({ clock }: Deps, once: () => Promise<Attempt | undefined>, signal?: AbortSignal): Promise<Attempt | undefined> {
  for (let [waitedMs, stepMs] = [0, firstStepMs]; waitedMs <= longestWaitMs; stepMs = Math.min(2 * stepMs, longestStepMs)) {
    await clock.sleep(stepMs, signal)
    if (signal?.aborted) return undefined
    const attempt = await once()
    if (attempt) return attempt
    waitedMs += stepMs
  }
  return undefined
}

async function isKnown({ db, clock }: Deps, subject: string, network: string): Promise<boolean> {
  const row = await db
    .selectFrom('user_login_networks')
    .select('network')
    .where('subject', '=', subject)
    .where('network', '=', network)
    .where('last_login_at', '>', isoIn(clock, -knownNetworkMs))
    .executeTakeFirst()
  return row !== undefined
}

/** Failures and attempts under way never pass ten together. What a process that died left under way counts as failed after a minute. */
async function takePlace({ db, clock }: Deps, { subject, counter, until }: Attempt): Promise<boolean> {
  const [now, stale] = [isoNow(clock), isoIn(clock, -maxPendingMs)]
  const failures = sql`case when user_login_failures.until <= ${now} then 0
    when user_login_failures.pending_at <= ${stale} then user_login_failures.failures + user_login_failures.pending
    else user_login_failures.failures end`
  const pending = sql`case when user_login_failures.pending_at <= ${stale} then 0 else user_login_failures.pending end`
  const { rows } = await sql<{ pending: number }>`
    insert into user_login_failures (subject, network, failures, pending, pending_at, until) values (${subject}, ${counter}, 0, 1, ${now}, ${until})
    on conflict (subject, network) do update set
      failures = ${failures},
      pending = ${pending} + 1,
      pending_at = ${now},
      until = case when user_login_failures.until <= ${now} then ${until} else user_login_failures.until end
    where ${failures} + ${pending} < ${maxFailures}
    returning pending`.execute(db)
  return rows.length > 0
}

/** `Retry-After` counts from when the attempt came, however long it waited since. */
async function refuseLocked({ db, clock }: Deps, { subject, counter }: Attempt, came: Date): Promise<void> {
  const row = await db
    .selectFrom('user_login_failures')
    .selectAll()
    .where('subject', '=', subject)
    .where('network', '=', counter)
    .executeTakeFirst()
  if (!row || row.until <= isoNow(clock)) return
  const lost = row.pending_at <= isoIn(clock, -maxPendingMs) ? row.pending : 0
  if (row.failures + lost < maxFailures) return
  const retryAfterSeconds = Math.max(1, Math.ceil((Date.parse(row.until) - came.getTime()) / 1000))
  throw problem('ACCOUNT_LOCKED', 'too many failed logins: the account is locked, and opens by itself within 15 minutes', {
    retryAfterSeconds,
  })
}

/** The attempt failed. True for the failure that locked: it is told of once. */
export async function recordFailure(deps: Deps, attempt: Attempt): Promise<boolean> {
  const locked = await countFailure(deps, attempt, 1)
  // What fails from a known network counts for strangers too: ten failures lock, wherever they came from.
  return (attempt.counter !== '' && (await countFailure(deps, { ...attempt, counter: '' }, 0))) || locked
}

/** The lock is never extended: what fails while it lasts changes nothing. */
async function countFailure({ db, clock }: Deps, { subject, counter, until }: Attempt, reserved: 0 | 1): Promise<boolean> {
  const now = isoNow(clock)
  const lasts = sql`user_login_failures.until > ${now} and user_login_failures.failures >= ${maxFailures}`
  const { rows } = await sql<{ failures: number; until: string }>`
    insert into user_login_failures (subject, network, failures, pending, pending_at, until) values (${subject}, ${counter}, 1, 0, ${now}, ${until})
    on conflict (subject, network) do update set
      failures = case when user_login_failures.until <= ${now} then 1
        when user_login_failures.failures >= ${maxFailures} then user_login_failures.failures else user_login_failures.failures + 1 end,
      pending = case when user_login_failures.pending >= ${reserved} then user_login_failures.pending - ${reserved} else 0 end,
      until = case when ${lasts} then user_login_failures.until else ${until} end
    returning failures, until`.execute(db)
  return Number(rows[0]?.failures) === maxFailures && rows[0]?.until === until
}

/** Nothing was learnt of the password: it was neither failure nor success. */
export async function releaseAttempt({ db }: Deps, { subject, counter }: Attempt): Promise<void> {
  await db
    .updateTable('user_login_failures')
    .set((row) => ({ pending: row('pending', '-', 1) }))
    .where('subject', '=', subject)
    .where('network', '=', counter)
    .where('pending', '>', 0)
    .execute()
}

/**
 * Does what follows once the attempt has its place. What fails by itself says nothing of the password, and it is what the caller hears of, whatever
 * becomes of the release: a place that stays taken counts as a failure after a minute.
 */
export async function orRelease<T>(deps: Deps & Readonly<{ log: Logger }>, attempt: Attempt, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await releaseAttempt(deps, attempt).catch((later) =>
      deps.log.warn({ err: later }, 'a login that failed by itself counts as a wrong one'),
    )
    throw error
  }
}

/** Forgets the failures of a user who got another password: what was tried before says nothing of it. */
export async function liftLock(tx: Tx, { tenantId, localpart }: Readonly<{ tenantId: string; localpart: string }>): Promise<void> {
  const subject = sha256Hex(lockSubject({ id: tenantId }, '', localpart))
  await tx.updateTable('user_login_failures').set({ failures: 0 }).where('subject', '=', subject).execute()
}

/** The password was right: the failures are forgotten, except a lock that strangers are under, and the network is known from now on. */
export async function recordSuccess(tx: Tx, clock: Clock, { subject, network, counter }: Attempt): Promise<void> {
  const now = isoNow(clock)
  await sql`
    update user_login_failures set failures = 0, pending = case when pending > 0 then pending - 1 else 0 end
    where subject = ${subject} and network = ${counter}`.execute(tx)
  if (counter !== '') {
    await sql`update user_login_failures set failures = 0
      where subject = ${subject} and network = '' and (failures < ${maxFailures} or until <= ${now})`.execute(tx)
  }
  await tx
    .insertInto('user_login_networks')
    .values({ subject, network, last_login_at: now })
    .onConflict((c) => c.columns(['subject', 'network']).doUpdateSet({ last_login_at: now }))
    .execute()
}
