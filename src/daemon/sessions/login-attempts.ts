import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, type Problem, problem, sha256Hex } from '../../core/kit/index.ts'
import { failureMemoryMs, knownNetworkMs, lockSubject, maxFailures, maxPendingMs, networkOf } from '../../core/sessions/index.ts'
import type { Logger } from '../../node/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

// Failed logins are counted by account and, for networks the user has logged in from, by network: strangers share one counter and cannot lock a
// user out of its own networks. An attempt takes one of ten slots before the password is checked, so of a hundred parallel guesses ten run.

/** `counter`: the network if it is known, else empty. `until`: when a failure of this attempt expires, counted from its start: response times do not leak. */
export type Attempt = Readonly<{ subject: string; network: string; counter: string; until: string }>

type Deps = Readonly<{ db: DbOrTx; clock: Clock }>
export type AttemptDeps = Deps & Readonly<{ log: Logger; waiting: LoginWaiters }>
type AttemptInput = Readonly<{ lockSubject: string; address: string; signal?: AbortSignal | undefined }>

/** Returned by the work of an attempt when the login is refused. */
export const refused = 'refused' as const

/**
 * Runs the work under one attempt and ends the attempt in exactly one way. Success: the work calls `recordSuccess` in the transaction that uses the
 * proof. `refused`: counted as a failure, throws LOGIN_FAILED. Any error: released, because nothing is known about the password; the error is
 * thrown. A dead process: counts as failed after a minute. Throws ACCOUNT_LOCKED, or UNAVAILABLE when no slot becomes free.
 */
export async function withAttempt<T>(
  deps: AttemptDeps,
  input: AttemptInput,
  work: (attempt: Attempt) => Promise<T | typeof refused>,
): Promise<T> {
  const attempt = await reserveAttempt(deps, input)
  const result = await work(attempt).catch(async (error) => {
    await releaseAttempt(deps, attempt).catch((later) =>
      deps.log.warn({ err: later }, 'a login attempt was not released: it counts as failed'),
    )
    throw error
  })
  if (result === refused) throw await refusal(deps, attempt)
  return result
}

/** All refused logins get the same problem. A locked chat account or a disabled user is counted too, else the counter would confirm the password. */
async function refusal(deps: AttemptDeps, attempt: Attempt): Promise<Problem> {
  if (await recordFailure(deps, attempt)) deps.log.warn({ network: attempt.network }, 'ten failed logins: account locked for 15 minutes')
  return problem('LOGIN_FAILED', 'Tenant, name or password is wrong, or the account cannot be used')
}

/** Intervals between tries for a slot, doubled from the first to the longest. */
const [firstStepMs, maxStepMs, maxWaitMs] = [50, 500, 20_000]

/** By then some of the waiting logins have finished. */
const crowdedSeconds = 5
const crowded = `Too many parallel logins of this account. fix: log in again in ${crowdedSeconds} s`

/**
 * Takes one of the ten slots. Throws ACCOUNT_LOCKED if ten failures fill them, for existing and unknown accounts alike; such tries are not counted.
 * Throws UNAVAILABLE if the running attempts take too long, or too many callers wait already.
 */
export async function reserveAttempt(
  deps: Deps & Readonly<{ waiting: LoginWaiters }>,
  { lockSubject: key, address, signal }: AttemptInput,
): Promise<Attempt> {
  const [subject, network] = [sha256Hex(key), networkOf(address)]
  const counter = (await isKnownNetwork(deps, subject, network)) ? network : ''
  const arrivedAt = deps.clock.now()
  const tryOnce = async (): Promise<Attempt | undefined> => {
    const attempt = { subject, network, counter, until: isoIn(deps.clock, failureMemoryMs) }
    if (await takeSlot(deps, attempt)) return attempt
    await assertNotLocked(deps, attempt, arrivedAt)
    return undefined
  }
  const first = await tryOnce()
  if (first) return first
  const waiting = deps.waiting.wait(subject, () => pollSlot(deps, tryOnce, signal))
  if (!waiting) throw problem('UNAVAILABLE', crowded, { retryAfterSeconds: crowdedSeconds })
  const attempt = await waiting
  if (attempt) return attempt
  throw problem('UNAVAILABLE', 'Ten logins of this account are still running. fix: try again in a moment', { retryAfterSeconds: 1 })
}

/** Polls until there is a slot, the wait takes too long, or the caller disconnects. */
async function pollSlot({ clock }: Deps, tryOnce: () => Promise<Attempt | undefined>, signal?: AbortSignal): Promise<Attempt | undefined> {
  for (let [waitedMs, stepMs] = [0, firstStepMs]; waitedMs <= maxWaitMs; stepMs = Math.min(2 * stepMs, maxStepMs)) {
    await clock.sleep(stepMs, signal)
    if (signal?.aborted) return undefined
    const attempt = await tryOnce()
    if (attempt) return attempt
    waitedMs += stepMs
  }
  return undefined
}

async function isKnownNetwork({ db, clock }: Deps, subject: string, network: string): Promise<boolean> {
  const row = await db
    .selectFrom('user_login_networks')
    .select('network')
    .where('subject', '=', subject)
    .where('network', '=', network)
    .where('last_login_at', '>', isoIn(clock, -knownNetworkMs))
    .executeTakeFirst()
  return row !== undefined
}

/** Failures and running attempts never exceed ten together. Attempts of a dead process count as failed after a minute. */
async function takeSlot({ db, clock }: Deps, { subject, counter, until }: Attempt): Promise<boolean> {
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

/** `Retry-After` counts from the arrival of the attempt, so that it does not depend on the wait. */
async function assertNotLocked({ db, clock }: Deps, { subject, counter }: Attempt, arrivedAt: Date): Promise<void> {
  const row = await db
    .selectFrom('user_login_failures')
    .selectAll()
    .where('subject', '=', subject)
    .where('network', '=', counter)
    .executeTakeFirst()
  if (!row || row.until <= isoNow(clock)) return
  const lost = row.pending_at <= isoIn(clock, -maxPendingMs) ? row.pending : 0
  if (row.failures + lost < maxFailures) return
  const retryAfterSeconds = Math.max(1, Math.ceil((Date.parse(row.until) - arrivedAt.getTime()) / 1000))
  throw problem('ACCOUNT_LOCKED', 'Too many failed logins: the account is locked for up to 15 minutes', { retryAfterSeconds })
}

/** Returns true for the failure that locks the account, so that it is logged once. */
async function recordFailure(deps: Deps, attempt: Attempt): Promise<boolean> {
  const locked = await countFailure(deps, attempt, 1)
  // A failure from a known network counts for strangers too: ten failures lock, from any network.
  return (attempt.counter !== '' && (await countFailure(deps, { ...attempt, counter: '' }, 0))) || locked
}

/** A lock is never extended: failures during a lock change nothing. */
async function countFailure({ db, clock }: Deps, { subject, counter, until }: Attempt, reserved: 0 | 1): Promise<boolean> {
  const now = isoNow(clock)
  const isLocked = sql`user_login_failures.until > ${now} and user_login_failures.failures >= ${maxFailures}`
  const { rows } = await sql<{ failures: number; until: string }>`
    insert into user_login_failures (subject, network, failures, pending, pending_at, until) values (${subject}, ${counter}, 1, 0, ${now}, ${until})
    on conflict (subject, network) do update set
      failures = case when user_login_failures.until <= ${now} then 1
        when user_login_failures.failures >= ${maxFailures} then user_login_failures.failures else user_login_failures.failures + 1 end,
      pending = case when user_login_failures.pending >= ${reserved} then user_login_failures.pending - ${reserved} else 0 end,
      until = case when ${isLocked} then user_login_failures.until else ${until} end
    returning failures, until`.execute(db)
  return Number(rows[0]?.failures) === maxFailures && rows[0]?.until === until
}

async function releaseAttempt({ db }: Deps, { subject, counter }: Attempt): Promise<void> {
  await db
    .updateTable('user_login_failures')
    .set((row) => ({ pending: row('pending', '-', 1) }))
    .where('subject', '=', subject)
    .where('network', '=', counter)
    .where('pending', '>', 0)
    .execute()
}

/** Clears the failures, except a lock of strangers, and records the network as known. */
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

/** Clears the failures of a user whose password was reset, or whose administration ends the lock. */
export async function unlockLogin(tx: Tx, { tenantId, localpart }: Readonly<{ tenantId: string; localpart: string }>): Promise<void> {
  const subject = sha256Hex(lockSubject({ id: tenantId }, '', localpart))
  await tx.updateTable('user_login_failures').set({ failures: 0 }).where('subject', '=', subject).execute()
}

/** Until when a user is locked for networks that it has not logged in from; undefined: it is not. */
export async function lockedUntil({ db, clock }: Deps, { tenantId, localpart }: Readonly<{ tenantId: string; localpart: string }>) {
  const row = await db
    .selectFrom('user_login_failures')
    .select('until')
    .where('subject', '=', sha256Hex(lockSubject({ id: tenantId }, '', localpart)))
    .where('failures', '>=', maxFailures)
    .where('until', '>', isoNow(clock))
    .orderBy('until', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.until
}

/** Deletes expired failure counters. Guessed names have one each, so this runs every few minutes, not nightly. */
export async function deleteExpiredFailures({ db, clock }: Deps): Promise<void> {
  await db.deleteFrom('user_login_failures').where('until', '<=', isoNow(clock)).execute()
}

/** Limits the logins of this process that wait for a slot: each polls the database. */
export type LoginWaiters = Readonly<{ wait<Result>(subject: string, work: () => Promise<Result>): Promise<Result> | undefined }>

/** Far more than the clients of one user need, so that the limit does not reveal how fast a chat server checks passwords. */
const maxWaitersPerAccount = 100
const maxWaiters = 500

/** `wait` returns undefined at the limit. */
export function loginWaiters(): LoginWaiters {
  const counts = new Map<string, number>()
  let total = 0
  const leave = (subject: string) => {
    const left = (counts.get(subject) ?? 1) - 1
    total -= 1
    if (left === 0) counts.delete(subject)
    else counts.set(subject, left)
  }
  return {
    wait: (subject, work) => {
      const count = counts.get(subject) ?? 0
      if (count >= maxWaitersPerAccount || total >= maxWaiters) return undefined
      counts.set(subject, count + 1)
      total += 1
      return work().finally(() => leave(subject))
    },
  }
}
