import type { RestoreResult, UpdateResult } from '../boxes/index.ts'
import type { ActionError, ActionRollback, ActionStatus } from './action.ts'
import { evaluateUpdate } from './judge-update.ts'

/** What came of a way back: how the undo ended, and where that leaves the box. */
export type RollbackVerdict = Readonly<{
  undo: Extract<ActionRollback['status'], 'undone' | 'failed'>
  status: Extract<ActionStatus, 'succeeded' | 'failed' | 'rolled_back' | 'rollback_failed'>
  error: ActionError | null
}>

/** The box runs as the rollout left it. */
export const rollbackFailed = (error: ActionError): RollbackVerdict => ({ undo: 'failed', status: 'succeeded', error })
const undone: RollbackVerdict = { undo: 'undone', status: 'rolled_back', error: null }
const atRest = (error: ActionError): RollbackVerdict => ({ undo: 'failed', status: 'rollback_failed', error })
/** The agent says that it is done, and what runs is something else: neither as before the rollout nor as after it. */
const untrue = (error: ActionError): RollbackVerdict => ({ undo: 'failed', status: 'failed', error })

const unexplained: ActionError = { code: 'INTERNAL', message: 'the agent did not say why: its log tells more' }

/** `wanted` maps each service that goes back to its former digest. */
export function evaluateImageRollback(result: UpdateResult, wanted: Readonly<Record<string, string>>): RollbackVerdict {
  const { outcome, error } = result
  if (outcome === 'rollback_failed') return atRest(error ?? unexplained)
  const { status, error: why, runsOther } = evaluateUpdate(result, wanted)
  if (outcome !== 'committed' && !runsOther) return rollbackFailed(error ?? unexplained)
  return status === 'succeeded' ? undone : untrue(why ?? unexplained)
}

/** `wanted` is every digest that ran before the update; null where the image had none. */
export function evaluateSnapshotRollback(
  { outcome, report, error }: RestoreResult,
  wanted: Readonly<Record<string, string | null>>,
): RollbackVerdict {
  if (outcome === 'restore_failed') return atRest(error ?? unexplained)
  if (outcome !== 'restored') return rollbackFailed(error ?? unexplained)
  const services: Readonly<Record<string, { digest: string | null } | undefined>> = report?.services ?? {}
  const other = Object.entries(wanted).flatMap(([service, digest]) =>
    digest !== null && services[service]?.digest !== digest ? [service] : [],
  )
  if (other.length === 0) return undone
  const message = `the agent restored the box, but ${other.join(', ')} ${other.length === 1 ? 'runs' : 'run'} another image than before the rollout`
  return untrue({ code: 'DIGEST_MISMATCH', message })
}
