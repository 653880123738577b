import type { RestoreResult, UpdateResult } from '../boxes/index.ts'
import type { ActionError, ActionRollback, ActionStatus } from './action.ts'

/** `runsOther`: by the agent's own report the box runs an image that was not ordered. */
type Verdict = Readonly<{ status: ActionStatus; error: ActionError | null; runsOther?: true }>

const statuses = { failed: 'failed', rolled_back: 'rolled_back', rollback_failed: 'rollback_failed' } as const

/**
 * Evaluates the report of an update. `committed` counts only when the digests that RUN were ordered and the box was proven healthy,
 * `rolled_back` only when no digest differs from before; otherwise the update failed. `digests` maps each service to the ordered digest.
 */
export function evaluateUpdate(result: UpdateResult, digests: Readonly<Record<string, string>>): Verdict {
  const strays = result.outcome === 'rolled_back' ? notAsBefore(result) : []
  if (strays.length > 0)
    return runsOther(
      `the agent reported a rollback${result.error ? ` (${result.error.message})` : ''}, but ${strays.join(', ')} runs another image than before the update`,
    )
  if (result.outcome !== 'committed')
    return {
      status: statuses[result.outcome],
      error: result.error ?? { code: 'UPDATE_FAILED', message: 'the agent reported no reason. fix: read its log' },
    }
  const wrong = Object.entries(digests).filter(([service, digest]) => result.digestsAfter[service] !== digest)
  if (wrong.length > 0)
    return runsOther(`the agent committed, but ${wrong.map(([service]) => service).join(', ')} runs another image than ordered`)
  if (!result.healthOk) return failed('PROBE_FAILED', 'the agent committed without proof of health')
  return { status: 'succeeded', error: null }
}

const notAsBefore = ({ digestsBefore, digestsAfter }: UpdateResult): string[] =>
  Object.entries(digestsBefore).flatMap(([service, digest]) => {
    const now = digestsAfter[service]
    return digest && now && now !== digest ? [service] : []
  })

const failed = (code: string, message: string): Verdict => ({ status: 'failed', error: { code, message } })
const runsOther = (message: string): Verdict => ({ ...failed('DIGEST_MISMATCH', message), runsOther: true })

/** How a rollback ended, and the status of the box after it. */
export type RollbackVerdict = Readonly<{
  rollback: Extract<ActionRollback['status'], 'done' | 'failed'>
  status: Extract<ActionStatus, 'succeeded' | 'failed' | 'rolled_back' | 'rollback_failed'>
  error: ActionError | null
}>

/** The box still runs as the rollout updated it. */
export const rollbackFailed = (error: ActionError): RollbackVerdict => ({ rollback: 'failed', status: 'succeeded', error })
/** The box runs its former version, also where it did so before. */
export const rolledBack: RollbackVerdict = { rollback: 'done', status: 'rolled_back', error: null }
const stopped = (error: ActionError): RollbackVerdict => ({ rollback: 'failed', status: 'rollback_failed', error })
/** The agent reported success, but the box runs neither the former nor the updated version. */
const contradicted = (error: ActionError): RollbackVerdict => ({ rollback: 'failed', status: 'failed', error })

const unexplained: ActionError = { code: 'INTERNAL', message: 'the agent reported no reason. fix: read its log' }

/** `former` maps each service that is rolled back to its former digest. */
export function evaluateImageRollback(result: UpdateResult, former: Readonly<Record<string, string>>): RollbackVerdict {
  const { outcome, error } = result
  if (outcome === 'rollback_failed') return stopped(error ?? unexplained)
  const { status, error: why, runsOther } = evaluateUpdate(result, former)
  if (outcome !== 'committed' && !runsOther) return rollbackFailed(error ?? unexplained)
  return status === 'succeeded' ? rolledBack : contradicted(why ?? unexplained)
}

/** `former` has every digest that ran before the update; null where the image had none. */
export function evaluateSnapshotRollback(
  { outcome, report, error }: RestoreResult,
  former: Readonly<Record<string, string | null>>,
): RollbackVerdict {
  if (outcome === 'restore_failed') return stopped(error ?? unexplained)
  if (outcome !== 'restored') return rollbackFailed(error ?? unexplained)
  const services: Readonly<Record<string, { digest: string | null } | undefined>> = report?.services ?? {}
  const other = Object.entries(former).flatMap(([service, digest]) =>
    digest !== null && services[service]?.digest !== digest ? [service] : [],
  )
  if (other.length === 0) return rolledBack
  const message = `the agent restored the box, but ${other.join(', ')} ${other.length === 1 ? 'runs' : 'run'} another image than before the rollout`
  return contradicted({ code: 'DIGEST_MISMATCH', message })
}
