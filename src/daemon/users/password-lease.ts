import { sql } from 'kysely'
import { type Clock, elapsedMs, isoIn, isoNow, isProblem, type Problem, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { DbOrTx } from '../db/index.ts'

// A chat password has one writer at a time: the owner of the lease on the user's row. `version` counts up when a lease begins and when it ends,
// so a caller that proved the old password writes only if no other writer came in between. Under the lease the chat server writes first, then the database
// records it. A lease left by a dead process expires after the longest possible write.

export type PasswordLease = Readonly<{ userId: string; version: number }>

/** Longer than all calls to the chat server under one lease. */
const maxLeaseMs = 120_000
const [acquireStepMs, maxAcquireMs] = [200, 10_000]

type LeaseDeps = Readonly<{ db: DbOrTx; clock: Clock }>

const isFree = (now: string) => sql<boolean>`(password_lease_until is null or password_lease_until <= ${now})`

/** The version to read before the old password is proved; undefined while a lease is held. */
export async function readPasswordVersion({ db, clock }: LeaseDeps, userId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('users')
    .select('password_version')
    .where('id', '=', userId)
    .where(isFree(isoNow(clock)))
    .executeTakeFirst()
  return row && Number(row.password_version)
}

/** `version`: fails if the password was written since that version. Returns undefined while another lease is held, and for a deleted user. */
export async function acquirePasswordLease({ db, clock }: LeaseDeps, userId: string, version?: number): Promise<PasswordLease | undefined> {
  const row = await db
    .updateTable('users')
    .set((of) => ({ password_version: of('password_version', '+', 1), password_lease_until: isoIn(clock, maxLeaseMs) }))
    .where('id', '=', userId)
    .where(isFree(isoNow(clock)))
    .$if(version !== undefined, (update) => update.where('password_version', '=', version as number))
    .returning('password_version')
    .executeTakeFirst()
  return row && { userId, version: Number(row.password_version) }
}

/** Returns false when the lease expired and another one began. */
export const releasePasswordLease = (db: DbOrTx, lease: PasswordLease): Promise<boolean> => endLease(db, lease, null)

/** `blockedUntil`: no other lease begins before. */
async function endLease(db: DbOrTx, { userId, version }: PasswordLease, blockedUntil: string | null): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ password_version: version + 1, password_lease_until: blockedUntil })
    .where('id', '=', userId)
    .where('password_version', '=', version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Waits for the lease, for up to 10 seconds. For callers that overwrite any password. Throws UNAVAILABLE. */
export async function waitForPasswordLease(deps: LeaseDeps, userId: string): Promise<PasswordLease> {
  for (let waitedMs = 0; waitedMs <= maxAcquireMs; waitedMs += acquireStepMs) {
    const lease = await acquirePasswordLease(deps, userId)
    if (lease) return lease
    await deps.clock.sleep(acquireStepMs)
  }
  throw await passwordBusy(deps, userId)
}

/**
 * The problem for callers that did not get the lease. Most writes last less than a second, so `Retry-After` is the age of the lease, but at most
 * its remaining time.
 */
export async function passwordBusy({ db, clock }: LeaseDeps, userId: string): Promise<Problem> {
  const row = await db.selectFrom('users').select('password_lease_until').where('id', '=', userId).executeTakeFirst()
  const leftMs = row?.password_lease_until ? elapsedMs(isoNow(clock), row.password_lease_until) : 0
  const retryAfterSeconds = Math.max(1, Math.ceil(Math.min(leftMs, maxLeaseMs - leftMs) / 1000))
  return problem('UNAVAILABLE', 'The password of this account is being set by another request. fix: try again', { retryAfterSeconds })
}

type WriteDeps = Readonly<{ db: DbOrTx; clock: Clock; log: Logger; draining?: AbortSignal | undefined }>

/** A server that did not answer may still write the password for this long. */
const lateWriteMs = 10_000
const [retryStepMs, maxCallerWaitMs] = [500, 10_000]

/** Runs the write to the chat server. On failure the lease ends as soon as the write can no longer take effect. */
export async function writeUnderLease<T>(deps: WriteDeps, lease: PasswordLease, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const isDone = isProblem(error) && !isProblem(error, 'HOMESERVER_UNREACHABLE')
    const blockedUntil = isDone ? null : isoIn(deps.clock, lateWriteMs)
    const end = () => endLease(deps.db, lease, blockedUntil)
    await end().catch((later) => void retryInBackground(deps, lease, { error: later, work: end }))
    throw error
  }
}

/**
 * Records the written password in the transaction that releases the lease. Retries database errors; after ten seconds the caller gets UNAVAILABLE
 * and the retries continue in the background. Throws the problems of `record`.
 */
export async function recordUnderLease<T>(deps: WriteDeps, lease: PasswordLease, record: () => Promise<T>): Promise<T> {
  try {
    return await record()
  } catch (error) {
    if (isProblem(error)) throw error
    return await retry(deps, maxCallerWaitMs, record).catch((later) => {
      if (!isProblem(later)) void retryInBackground(deps, lease, { error, work: record })
      throw writtenButNotRecorded(error)
    })
  }
}

/** Logs the outcome. A problem ends the retries: the lease was released by a commit whose answer was lost. */
async function retryInBackground(
  deps: WriteDeps,
  { userId }: PasswordLease,
  { error, work }: Readonly<{ error: unknown; work: () => Promise<unknown> }>,
): Promise<void> {
  const { log } = deps
  log.warn({ err: error, userId }, 'the result of setting a password could not be stored: retrying')
  await retry(deps, maxLeaseMs, work).catch((later) => {
    if (!isProblem(later))
      log.error({ err: later, userId }, 'the result of setting a password was not stored: reset the password of this user')
  })
}

/** A daemon that shuts down retries once and stops: its database closes. */
async function retry<T>({ clock, draining }: WriteDeps, maxMs: number, work: () => Promise<T>): Promise<T> {
  for (const begun = clock.monotonicMs(); ; await clock.sleep(retryStepMs, draining)) {
    try {
      return await work()
    } catch (error) {
      if (isProblem(error) || draining?.aborted || clock.monotonicMs() - begun >= maxMs) throw error
    }
  }
}

const writtenButNotRecorded = (cause: unknown) =>
  problem(
    'UNAVAILABLE',
    'The chat server has the new password, but the database did not record it. fix: log in with the new password, or set it again',
    { retryAfterSeconds: 10, cause },
  )
