import { hasEnded, movedState, type RunFailure } from '../../../core/boards/index.ts'
import { type Actor, type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import { canRetry, type RunSummary } from '../../../core/runs/index.ts'
import type { Tx } from '../../db/index.ts'
import { advanceLocked, assertReadable, auditRun, lockReadableRun, withCorrected } from './advance-run.ts'
import type { RunsDeps, StepDeps } from './deps.ts'
import { checkedMove, type VersionMove } from './move-version.ts'
import { findRun, type RunRecord, summaryOf } from './runs.repo.ts'

const manage = (deps: Deps, actor: PlatformPrincipal, { id, ...change }: One & Pick<Managed, 'type' | 'move'>) =>
  deps.db.transaction().execute(async (tx) => {
    const run = await lockReadableRun(tx, actor, id)
    return summaryOf(await manageLocked(deps, tx, { run, ...change, actor, slug: actor.tenantSlug }))
  })

/** Without the reason, which may quote variables: operators retry runs too. */
const cannotRetry = ({ id }: RunRecord, { code }: RunFailure) =>
  problem(
    'RUN_FAILED',
    `Run ${id} failed with ${code}, so a retry fails again. fix: a user with manageRuns ${withCorrected}, or cancels it and starts a new run`,
  )

type Managed = Readonly<{ run: RunRecord; type: 'cancel' | 'retry'; actor: Actor; slug: string; move?: VersionMove | undefined }>

/**
 * Cancels or retries a run that the caller has locked and may manage. Throws RUN_ENDED, RUN_FAILED (a retry cannot help), RUN_CHANGED (since it
 * was checked for another version), INVALID_TRANSITION.
 */
export async function manageLocked(deps: StepDeps, tx: Tx, { run, type, actor, slug, move }: Managed): Promise<RunRecord> {
  if (hasEnded(run.state))
    throw problem('RUN_ENDED', `Run ${run.id} has ended. ${type === 'cancel' ? 'Nothing is left to cancel.' : 'fix: start a new run'}`)
  if (move) return retryMoved(deps, tx, { run, actor, slug, move })
  if (type === 'retry' && run.state.failure && !canRetry(run.state.failure)) throw cannotRetry(run, run.state.failure)
  const after = await advanceLocked(deps, tx, { run, input: { type } })
  await auditRun(deps, tx, { actor, slug, run, action: type === 'cancel' ? 'run.cancelled' : 'run.retried' })
  return after
}

async function retryMoved(
  deps: StepDeps,
  tx: Tx,
  { run, actor, slug, move: { boardVersion, seq, pending } }: Omit<Managed, 'type'> & Readonly<{ move: VersionMove }>,
): Promise<RunRecord> {
  if (run.state.seq !== seq) throw problem('RUN_CHANGED', `Run ${run.id} was changed meanwhile. fix: repeat the request`)
  const moved = { ...run, boardVersion, state: movedState(run.state, { pending }) }
  const after = await advanceLocked(deps, tx, { run: moved, input: { type: 'retry', boardVersion } })
  await auditRun(deps, tx, { actor, slug, run, action: 'run.retried', boardVersion })
  return after
}

type One = Readonly<{ id: string }>
type Deps = Pick<RunsDeps, 'db' | 'clock' | 'random'>

/** Ends a run: its tasks, checkpoints and timers are cancelled. Throws NOT_FOUND, RUN_ENDED. */
export const cancelRun = (deps: Deps, actor: PlatformPrincipal, { id }: One) => manage(deps, actor, { id, type: 'cancel' })

/**
 * Continues a failed run at the element that failed, with `boardVersion` in that version of its board. Throws NOT_FOUND, RUN_ENDED, RUN_FAILED (a
 * retry cannot help), RUN_CHANGED, INVALID_TRANSITION (it has not failed), VALIDATION (not the published version), VERSION_UNFIT.
 */
export async function retryRun(
  deps: Deps,
  actor: PlatformPrincipal,
  { id, boardVersion }: One & Readonly<{ boardVersion?: number | undefined }>,
): Promise<RunSummary> {
  if (boardVersion === undefined) return manage(deps, actor, { id, type: 'retry' })
  const run = await assertReadable(deps.db, actor, { id, run: await findRun(deps.db, { tenantId: actor.tenantId, id }) })
  return manage(deps, actor, { id, type: 'retry', move: await checkedMove(deps, { run, boardVersion }) })
}
