import type { RestoreResult, UpdateResult } from '../boxes/index.ts'
import type { ActionError, ActionRollback, ActionStatus } from './action.ts'

/** `runsOther`: an image that nobody asked for, by what the agent itself says of what runs. */
type Verdict = Readonly<{ status: ActionStatus; error: ActionError | null; runsOther?: true }>

const statuses = { failed: 'failed', rolled_back: 'rolled_back', rollback_failed: 'rollback_failed' } as const

/**
 * What an update's answer is worth. `committed` counts only when the digests that RUN are the ones that were asked for and the box proved
 * healthy, `rolled_back` only when none is known to be another than before; whoever says otherwise has failed. `digests` maps service to the
 * digest it was to have.
 */
export function evaluateUpdate(result: UpdateResult, digests: Readonly<Record<string, string>>): Verdict {
  const strays = result.outcome === 'rolled_back' ? notAsBefore(result) : []
  if (strays.length > 0)
    return runsOther(
      `the agent took the update back${result.error ? ` (${result.error.message})` : ''}, but ${strays.join(', ')} runs another image than before it`,
    )
  if (result.outcome !== 'committed')
    return { status: statuses[result.outcome], error: result.error ?? { code: 'UPDATE_FAILED', message: 'the agent did not say why' } }
  const wrong = Object.entries(digests).filter(([service, digest]) => result.digestsAfter[service] !== digest)
  if (wrong.length > 0)
    return runsOther(`the agent committed, but ${wrong.map(([service]) => service).join(', ')} runs another image than planned`)
  if (!result.healthOk) return failed('PROBE_FAILED', 'the agent committed without proof that the box is healthy')
  return { status: 'succeeded', error: null }
}

const notAsBefore = ({ digestsBefore, digestsAfter }: UpdateResult): string[] =>
  Object.entries(digestsBefore).flatMap(([service, digest]) => {
    const now = digestsAfter[service]
    return digest && now && now !== digest ? [service] : []
  })

const failed = (code: string, message: string): Verdict => ({ status: 'failed', error: { code, message } })
const runsOther = (message: string): Verdict => ({ ...failed('DIGEST_MISMATCH', message), runsOther: true })

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
