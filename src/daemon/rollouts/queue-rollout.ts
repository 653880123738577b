import type { NewAlert } from '../../core/alerts/index.ts'
import type { Fix } from '../../core/boxes/index.ts'
import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import { type PlannedBox, pinnedDigests, type RolloutPlan } from '../../core/rollouts/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import type { Tx } from '../db/index.ts'
import { insertActions, type StoredAction } from './actions.repo.ts'
import { actionId } from './actions-ahead.repo.ts'
import type { Planned } from './plan-rollout.ts'
import type { Repeat } from './repeated-call.ts'
import { insertRollout, type StoredRollout } from './rollouts.repo.ts'
import { recordRolloutAudit, tell } from './tell.ts'

/** What whoever makes a rollout decides about it. */
type Decided = Pick<StoredRollout, 'reason' | 'cveId' | 'triggeredBy' | 'failureThreshold' | 'skipRefused' | 'holdAfter' | 'fenceMode'> &
  Partial<Pick<StoredRollout, 'ignoreWindows'>>

/** As it is before anything was done. */
export const newRollout = (clock: Clock, actor: Actor, { id, manifest, plan }: Planned, decided: Decided): StoredRollout => ({
  id,
  kind: plan.kind,
  status: 'queued',
  previousStatus: null,
  pauseReason: null,
  error: null,
  createdBy: actorLabel(actor),
  manifestRevision: plan.manifestRevision,
  manifest,
  digests: pinnedDigests(plan),
  targetSlugs: plan.targetSlugs,
  createdAt: isoNow(clock),
  startedAt: null,
  finishedAt: null,
  ignoreWindows: false,
  ...decided,
})

type Queued = Readonly<{
  plan: RolloutPlan
  repeat: Repeat | null
  /** What an emergency is about. */
  fixes?: Fix['versions']
  actor: Actor
  alert?: NewAlert
  /** What the audit log holds beside the rest. */
  data?: Readonly<Record<string, unknown>>
}>

/** Stores it with one action per tenant, and tells of it. Last in its transaction. */
export async function queueRollout(
  tx: Tx,
  clock: Clock,
  rollout: StoredRollout,
  { plan, repeat, fixes, actor, alert, data: more = {} }: Queued,
): Promise<void> {
  await insertRollout(tx, rollout, { plan, repeat, fixes })
  await insertActions(
    tx,
    plan.boxes.map((box) => actionFor(rollout, box)),
  )
  await tell(tx, clock, rollout, { type: 'rollout.created', reason: rollout.reason })
  if (alert) await raiseAlert(tx, clock, alert)
  const { kind, manifestRevision, digests, targetSlugs, reason, skipRefused, failureThreshold, holdAfter, ignoreWindows, fenceMode } =
    rollout
  const data = {
    kind,
    manifestRevision,
    digests,
    targetSlugs,
    reason,
    skipRefused,
    failureThreshold,
    holdAfter,
    ignoreWindows,
    fenceMode,
    updates: plan.updates,
    ...more,
  }
  await recordRolloutAudit(tx, clock, rollout, { actor, action: 'rollout.created', data })
}

/** A refused box stays pending unless it was waived: it keeps the rollout from starting. */
const actionFor = ({ id, skipRefused }: StoredRollout, box: PlannedBox): StoredAction => ({
  id: actionId(id, box.tenantSlug),
  rolloutId: id,
  tenantSlug: box.tenantSlug,
  boxId: box.boxId,
  hostId: box.hostId,
  tier: box.tier,
  phase: box.phase,
  status: box.does === 'skip' || (box.does === 'refuse' && skipRefused) ? 'skipped' : 'pending',
  from: box.from,
  to: box.to,
  findings: box.findings,
  attempt: 0,
  waived: false,
  undo: null,
  expectedMs: box.expectedMs,
  expectedFenceMs: box.expectedFenceMs,
  ...untried,
})

/** What an action knows before its next attempt. */
export const untried = {
  step: null,
  commandId: null,
  images: {},
  snapshotOk: null,
  updateOk: null,
  healthOk: null,
  rolledBack: false,
  snapshotId: null,
  progress: null,
  waitsUntil: null,
  startedAt: null,
  overdueAt: null,
  finishedAt: null,
  durationMs: null,
  fencedMs: null,
  error: null,
} as const satisfies Partial<StoredAction>
