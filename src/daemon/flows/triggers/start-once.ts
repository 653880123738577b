import { sql } from 'kysely'
import { boardLimits, maxDepth } from '../../../core/boards/index.ts'
import { isoIn, isoNow, isProblem, type Problem } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import type { TriggeredRun, TriggersDeps } from './deps.ts'
import { enqueueFailedCheck, enqueueIfFailed } from './failed-starts.ts'
import { chainedStartsSince, hasLoopSince, insertOccurrence, settleOccurrence } from './occurrences.repo.ts'

type Deps = Pick<TriggersDeps, 'clock' | 'startRun'>

export type Occurred = TriggeredRun & Readonly<{ triggerId: string; depth: number; roomId?: string }>

/**
 * Starts a run for what a trigger saw, in the transaction, unless it started one before. A board that refuses the run is recorded as failed;
 * whatever may pass is thrown, so that the caller repeats its transaction. A loop is recorded once per board and hour. Returns what
 * was recorded, if anything.
 */
export async function startOnce(
  { clock, startRun }: Deps,
  tx: Tx,
  { triggerId, depth, roomId = undefined, ...run }: Occurred,
): Promise<'started' | 'failed' | 'loop' | undefined> {
  const { tenantId, boardId, trigger } = run
  const one = { tenantId, boardId, occurrence: trigger.occurrence }
  const seen = { ...one, triggerId, kind: trigger.type, depth, roomId: roomId ?? null, at: isoNow(clock) }
  const since = isoIn(clock, -3_600_000)
  const cause = depth > maxDepth ? tooDeep : (await isFlood(tx, { tenantId, depth, since })) ? tooMany : undefined
  if (cause !== undefined) {
    if (await hasLoopSince(tx, one, since)) return undefined
    const reason = `${cause}. fix: change the trigger so that a board does not start itself`
    return (await insertOccurrence(tx, { ...seen, outcome: 'loop', runId: null, reason })) ? 'loop' : undefined
  }
  if (!(await insertOccurrence(tx, { ...seen, outcome: 'started', runId: null, reason: null }))) return undefined
  let outcome: 'started' | 'failed' = 'started'
  await sql`savepoint triggered`.execute(tx)
  try {
    const { id } = await startRun(tx, run)
    await settleOccurrence(tx, one, { outcome: 'started', runId: id, reason: null })
    await enqueueIfFailed(tx, clock, one)
  } catch (error) {
    if (!isRefusal(error)) throw error
    await sql`rollback to savepoint triggered`.execute(tx)
    await settleOccurrence(tx, one, { outcome: 'failed', runId: null, reason: error.message })
    await enqueueFailedCheck(tx, clock, one)
    outcome = 'failed'
  }
  await sql`release savepoint triggered`.execute(tx)
  return outcome
}

const isRefusal = (error: unknown): error is Problem => isProblem(error) && !error.retryable && error.code !== 'LEASE_LOST'

const tooDeep = `${maxDepth} runs led to this event, one after the other`
const tooMany = `${boardLimits.chainedStarts} runs of this tenant were started within an hour by events of other runs`

type Chained = Readonly<{ tenantId: string; depth: number; since: string }>

/** The limit of depth alone would let a loop grow by the number of events of each run. */
const isFlood = async (tx: Tx, { depth, ...started }: Chained): Promise<boolean> =>
  depth > 0 && (await chainedStartsSince(tx, started)) >= boardLimits.chainedStarts
