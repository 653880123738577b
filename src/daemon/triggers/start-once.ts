import { sql } from 'kysely'
import { maxDepth } from '../../core/boards/index.ts'
import { isoNow, isProblem, type Problem } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import type { TriggeredRun, TriggersDeps } from './deps.ts'
import { insertOccurrence, settleOccurrence } from './occurrences.repo.ts'

type Deps = Pick<TriggersDeps, 'clock' | 'startRun'>

export type Occurred = TriggeredRun & Readonly<{ triggerId: string; depth: number; roomId?: string }>

/**
 * Starts a run for what a trigger saw, in the transaction, unless it started one before. A board that refuses the run is recorded as failed;
 * whatever may pass is thrown, so that the caller repeats its transaction.
 */
export async function startOnce(
  { clock, startRun }: Deps,
  tx: Tx,
  { triggerId, depth, roomId = undefined, ...run }: Occurred,
): Promise<void> {
  const { tenantId, boardId, trigger } = run
  const one = { tenantId, boardId, occurrence: trigger.occurrence }
  const seen = { ...one, triggerId, kind: trigger.type, depth, roomId: roomId ?? null, at: isoNow(clock) }
  if (!(await insertOccurrence(tx, { ...seen, outcome: 'started', runId: null, reason: null }))) return
  if (depth > maxDepth) {
    const reason = `${maxDepth} runs led to this event, one after the other. fix: let no board start by what it causes itself`
    return settleOccurrence(tx, one, { outcome: 'loop', runId: null, reason })
  }
  await sql`savepoint triggered`.execute(tx)
  try {
    const { id } = await startRun(tx, run)
    await settleOccurrence(tx, one, { outcome: 'started', runId: id, reason: null })
  } catch (error) {
    if (!isRefusal(error)) throw error
    await sql`rollback to savepoint triggered`.execute(tx)
    await settleOccurrence(tx, one, { outcome: 'failed', runId: null, reason: error.message })
  }
  await sql`release savepoint triggered`.execute(tx)
}

const isRefusal = (error: unknown): error is Problem => isProblem(error) && !error.retryable && error.code !== 'LEASE_LOST'
