import { alertOf, closedByRestore } from '../../../../core/alerts/index.ts'
import type { BoxId } from '../../../../core/boxes/index.ts'
import { isoNow, spanMs } from '../../../../core/kit/index.ts'
import type { ActionStatus, RollbackVerdict } from '../../../../core/rollouts/index.ts'
import { closeAlerts, raiseAlert } from '../../../alerts/index.ts'
import { releaseHold } from '../../../boxes/index.ts'
import type { Tx } from '../../../db/index.ts'
import { replaceAction, type StoredAction } from '../../actions.repo.ts'
import { attemptsOf, type Evidence } from '../../attempts.repo.ts'
import { checkpointAtEnd } from '../../checkpoint-at-end.ts'
import type { RolloutsDeps } from '../../deps.ts'
import type { StoredRollout } from '../../rollouts.repo.ts'
import { engineActor, recordRolloutAudit, streamOf, tell } from '../../tell.ts'
import { closeAttempt } from '../close-attempt.ts'

type Ending = Readonly<{ verdict: RollbackVerdict; shows?: Partial<StoredAction>; evidence?: Evidence }>

/** The box is free again, and how its way back ended stands. */
export async function settleUndo(
  tx: Tx,
  { clock }: Pick<RolloutsDeps, 'clock'>,
  rollout: StoredRollout,
  action: StoredAction,
  { verdict, shows = {}, evidence = {} }: Ending,
): Promise<undefined> {
  const { status, error } = verdict
  const at = isoNow(clock)
  const durationMs = action.startedAt === null ? null : spanMs(action.startedAt, at)
  const settled: StoredAction = {
    ...action,
    ...(status === 'succeeded' ? await asUpdated(tx, action) : { finishedAt: at, durationMs, error, ...shows }),
    status,
    undo: action.undo && { ...action.undo, status: verdict.undo, error },
    rolledBack: verdict.undo === 'undone',
    step: null,
    overdueAt: null,
  }
  await replaceAction(tx, action, settled)
  const known = { durationMs, ...evidence, status: attemptStatus(verdict), error, finishedAt: at }
  const sum = await closeAttempt(tx, action, known, evidence.durationMs ?? null)
  await releaseHold(tx, { boxId: action.boxId as BoxId, holder: streamOf(rollout.id) })
  await tell(tx, clock, rollout, { type: 'rollout.action', action: settled })
  await closeAlerts(tx, clock, { subject: action.tenantSlug, ...overBy(verdict) })
  if (verdict.undo === 'failed') await alert(tx, { clock }, rollout, action, verdict)
  await checkpointAtEnd(tx, clock, rollout)
  const data = { slug: settled.tenantSlug, attempt: settled.attempt, by: settled.undo?.mode, status, error, evidence: sum }
  await recordRolloutAudit(tx, clock, rollout, {
    actor: engineActor,
    action: verdict.undo === 'undone' ? 'rollout.action.undone' : 'rollout.action.undo_failed',
    data,
  })
}

/** A box that stays as it was updated is told of as that: its times are those of the update. */
async function asUpdated(tx: Tx, { id }: StoredAction): Promise<Partial<StoredAction>> {
  const update = (await attemptsOf(tx, id)).findLast(({ kind, status }) => kind === 'update' && status === 'succeeded')
  if (!update) return { error: null }
  const { startedAt, finishedAt, fencedMs } = update
  const durationMs = finishedAt === null ? null : spanMs(startedAt, finishedAt)
  return { startedAt, finishedAt, durationMs, fencedMs, progress: null, error: null }
}

const attemptStatus = ({ undo, status }: RollbackVerdict): ActionStatus =>
  undo === 'undone' ? 'rolled_back' : status === 'rollback_failed' ? status : 'failed'

const overBy = ({ undo }: RollbackVerdict) =>
  undo === 'undone'
    ? { kinds: ['deadline_overdue', 'undo_failed', ...closedByRestore] as const, because: 'the box was brought back' }
    : { kinds: ['deadline_overdue'] as const, because: 'its agent has answered' }

async function alert(
  tx: Tx,
  { clock }: Pick<RolloutsDeps, 'clock'>,
  { id: rolloutId }: StoredRollout,
  { tenantSlug: slug, attempt }: StoredAction,
  { status, error }: RollbackVerdict,
): Promise<void> {
  const box = { rolloutId, slug, attempt, error }
  const failed = alertOf.undo_failed(box)
  if (status !== 'rollback_failed') return void (await raiseAlert(tx, clock, failed))
  const title = `${slug} is DOWN: it could not be brought back from rollout ${rolloutId}`
  const body =
    `${failed.body}\nIts users see a maintenance notice. No further box of the rollout is brought back until somebody says so: ` +
    `\`tenantry rollouts undo ${rolloutId} --resume\` or \`--stop\`.`
  await raiseAlert(tx, clock, { ...alertOf.rollback_failed(box), title, body })
}
