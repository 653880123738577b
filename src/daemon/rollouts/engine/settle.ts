import type { BoxId } from '../../../core/boxes/index.ts'
import { isoNow, spanMs } from '../../../core/kit/index.ts'
import type { ActionError, ActionStatus } from '../../../core/rollouts/index.ts'
import { releaseHold } from '../../boxes/index.ts'
import type { Tx } from '../../db/index.ts'
import { replaceAction, type StoredAction } from '../actions.repo.ts'
import type { Evidence } from '../attempts.repo.ts'
import { checkpointAtEnd } from '../checkpoint-at-end.ts'
import type { RolloutsDeps } from '../deps.ts'
import type { StoredRollout } from '../rollouts.repo.ts'
import { engineActor, recordRolloutAudit, streamOf, tell } from '../tell.ts'
import { closeAttempt } from './close-attempt.ts'
import { tellOutcome } from './tell-outcome.ts'
import { keptForEnd } from './written-at-end.ts'

/** How an attempt ended. `shows` goes into the action, `evidence` into the attempt; `leftOpen`: users are on a version that proved nothing; `runsOther`: on an image that nobody asked for. */
export type Ending = Readonly<{
  status: ActionStatus
  error: ActionError | null
  shows?: Partial<StoredAction>
  evidence?: Evidence
  leftOpen?: boolean | undefined
  runsOther?: boolean | undefined
}>

/** The box is free again and the outcome stands, also when the rollout is over by now. */
export async function settle(
  tx: Tx,
  { clock }: Pick<RolloutsDeps, 'clock'>,
  rollout: StoredRollout,
  action: StoredAction,
  { status, error, shows = {}, evidence = {}, leftOpen = false, runsOther = false }: Ending,
): Promise<undefined> {
  const at = isoNow(clock)
  const durationMs = action.startedAt === null ? null : spanMs(action.startedAt, at)
  // Its rollout may have been rolled back with its boxes meanwhile: what was not updated is not brought back.
  const undo = status === 'succeeded' ? action.undo : null
  const settled: StoredAction = { ...action, ...shows, status, undo, error, step: null, overdueAt: null, finishedAt: at, durationMs }
  await replaceAction(tx, action, settled)
  const known = { durationMs, ...evidence, status, error, finishedAt: at }
  const sum = await closeAttempt(tx, action, known, evidence.durationMs ?? null)
  const ours = { boxId: action.boxId as BoxId, holder: streamOf(rollout.id) }
  if (!keptForEnd(tx)?.released.push(ours)) await releaseHold(tx, ours)
  await tell(tx, clock, rollout, { type: 'rollout.action', action: settled })
  await checkpointAtEnd(tx, clock, rollout)
  await tellOutcome(tx, clock, { before: action, settled, leftOpen, runsOther })
  const { tenantSlug: slug, attempt, snapshotId } = settled
  await recordRolloutAudit(tx, clock, rollout, {
    actor: engineActor,
    action: `rollout.action.${status}`,
    data: { slug, attempt, snapshotId, error, evidence: sum },
  })
}
