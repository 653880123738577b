import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging, sse, TimeInput, Timestamp } from '../contract/index.ts'
import { RollbackMode, RolloutAction, RolloutAttempt } from './action.ts'
import { EmergencyTargets, hasNoTarget, targetNames } from './emergency.ts'
import { emergencyLackNames } from './emergency-lacks.ts'
import { RequestedFence, RequestedSnapshot } from './fence-choice.ts'
import { PlannedImage, RolloutPlan } from './plan.ts'
import { RollbackPlan } from './plan-rollback.ts'
import { rehearseRollout } from './rehearsal-contract.ts'
import { proofContract } from './report-contract.ts'
import { BakeMs, Parallel, Phase, Rollout, RolloutId, RolloutKind, RolloutStatus, RolloutSummary } from './rollout.ts'
import { RolloutEvent } from './rollout-event.ts'

const base = '/admin/tenant-boxes/rollouts'
const one = z.strictObject({ id: RolloutId })

/** Recorded in the audit log. */
const Reason = z.string().trim().min(3).max(500)

/** An expected downtime above `fence.maxMinutes` is a warning instead of a refusal. */
const AllowLongFence = z.boolean().default(false)

/** Boxes are updated outside their maintenance windows too. */
const IgnoreWindows = z.boolean().default(false)

const TargetSlugs = z.array(Slug).min(1).max(10_000)

/** Identifies a call that may be repeated. */
export const IdempotencyKey = z.string().regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 printable characters without spaces')

type Pace = Readonly<{ parallel?: unknown; bakeMs?: unknown; fenceMode?: unknown; snapshotMode?: unknown }>
const hasNoPace = ({ parallel, bakeMs, fenceMode, snapshotMode }: Pace): boolean =>
  [parallel, bakeMs, fenceMode, snapshotMode].every((value) => value === undefined)

/** With the versions of an emergency it plans that emergency, which is for the whole fleet. */
const PlanBody = EmergencyTargets.extend({
  kind: RolloutKind.default('staged'),
  targetSlugs: TargetSlugs.optional(),
  allowLongFence: AllowLongFence,
  ignoreWindows: IgnoreWindows,
  parallel: Parallel,
  bakeMs: BakeMs,
  fenceMode: RequestedFence.optional(),
  snapshotMode: RequestedSnapshot.optional(),
})
  .refine(({ kind, ...body }) => kind === 'emergency_cve' || hasNoTarget(body), {
    path: ['kind'],
    message: 'must be emergency_cve for versions other than those of the manifest',
  })
  .refine(({ kind, targetSlugs }) => kind === 'staged' || targetSlugs === undefined, {
    path: ['targetSlugs'],
    message: 'must be left out: an emergency is for the whole fleet',
  })
  .refine(({ kind, ...pace }) => kind === 'staged' || hasNoPace(pace), {
    path: ['kind'],
    message: 'must be staged for parallel, bakeMs, fenceMode and snapshotMode',
  })
  .refine(({ kind, ...body }) => kind === 'staged' || !hasNoTarget(body), {
    path: ['toChatServer'],
    message: `name at least one target: ${targetNames.join(', ')}`,
  })

export const RolloutDetail = Rollout.extend({
  plan: RolloutPlan,
  actions: z.array(RolloutAction),
  /** `Last-Event-ID` for the event stream: it continues exactly after this state. */
  lastEventId: z.string(),
})
export type RolloutDetail = z.infer<typeof RolloutDetail>

export const rolloutsContract = {
  ...proofContract,
  rehearseRollout,
  planRollout: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing' },
    path: `${base}/plan`,
    auth: admin('viewer'),
    cost: 'plan',
    body: PlanBody,
    returns: RolloutPlan,
    problems: ['NOT_FOUND'],
    summary: 'Preview a rollout: order, version changes and findings (stores nothing)',
  }),
  resolveManifest: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing' },
    path: '/api/admin/v1/manifest/resolve',
    auth: admin('viewer'),
    cost: 'plan',
    body: z.strictObject({ manifest: z.unknown().meta({ description: 'A manifest; see GET for its schema' }) }),
    returns: z.object({ images: z.array(PlannedImage) }),
    problems: ['MANIFEST_INVALID'],
    summary: 'Resolve the digest of every image of a manifest by two hosts (read-only)',
  }),
  createRollout: endpoint({
    method: 'POST',
    audit: 'rollout.created',
    path: base,
    auth: admin('operator'),
    cost: 'plan',
    body: z.strictObject({
      targetSlugs: TargetSlugs.optional(),
      /** Skips the boxes that the plan blocks, which otherwise keep the rollout from starting. */
      skipRefused: z.boolean().default(false),
      allowLongFence: AllowLongFence,
      ignoreWindows: IgnoreWindows,
      failureThreshold: z.number().int().min(1).max(1000).default(1),
      holdAfter: Phase.optional(),
      parallel: Parallel,
      bakeMs: BakeMs,
      fenceMode: RequestedFence.default('auto'),
      snapshotMode: RequestedSnapshot.default('auto'),
      reason: Reason.optional(),
    }),
    returns: RolloutDetail,
    status: 201,
    problems: ['NOT_FOUND', 'CONFLICT'],
    summary: 'Plan and queue a rollout to the current manifest; with the header Idempotency-Key a repeated call answers the same rollout',
    spec: '4.6',
  }),
  listRollouts: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    query: Paging.extend({
      status: RolloutStatus.optional().meta({ description: 'rolled_back: also finished ones whose boxes were rolled back' }),
      kind: RolloutKind.optional(),
      since: TimeInput.optional().meta({ description: 'Created then or later' }),
      idempotencyKey: IdempotencyKey.optional().meta({ description: 'The rollout that the caller created with this Idempotency-Key' }),
    }),
    returns: z.object({
      rollouts: z.array(RolloutSummary),
      nextCursor: z.string().nullable(),
      emergencyLacks: z
        .array(z.enum(emergencyLackNames))
        .meta({ description: 'Configuration that emergencies lack; without approval_token or backup none can be created' }),
    }),
    summary: 'List rollouts with action counts, newest first',
    spec: '4.6',
  }),
  getRollout: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: admin('viewer'),
    params: one,
    returns: RolloutDetail,
    summary: 'Show a rollout with all its actions',
    spec: '4.6',
  }),
  getRolloutAction: endpoint({
    method: 'GET',
    path: `${base}/:id/actions/:slug`,
    auth: admin('viewer'),
    params: z.strictObject({ id: RolloutId, slug: Slug }),
    returns: z.object({ action: RolloutAction, attempts: z.array(RolloutAttempt) }),
    summary: 'Show one box of a rollout with the evidence of each attempt',
  }),
  lastFailure: endpoint({
    method: 'GET',
    path: '/api/admin/v1/boxes/:slug/last-failure',
    auth: admin('viewer'),
    params: z.strictObject({ slug: Slug }),
    returns: z.object({ failure: z.object({ rolloutId: z.string(), attempt: z.number().int(), at: Timestamp }).nullable() }),
    summary: 'Show the last attempt on a box that failed with log lines; `getRolloutAction` has them',
  }),
  startRollout: endpoint({
    method: 'POST',
    audit: 'rollout.started',
    path: `${base}/:id/start`,
    auth: admin('operator'),
    cost: 'plan',
    params: one,
    /** May be empty. `skipRefused` skips boxes that the plan blocks, also in an emergency. */
    body: z
      .strictObject({
        skipRefused: z.boolean().default(false),
        /** Begins once the unfinished rollouts that include its boxes have finished; without it they refuse the start. */
        queue: z.boolean().default(false),
      })
      .prefault({}),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'PLAN_STALE', 'PLAN_REFUSED', 'ROLLOUT_ACTIVE', 'CONFIG', 'CONFLICT'],
    summary: 'Start a rollout in the background; an emergency needs the role admin and pauses running staged rollouts',
    spec: '4.6',
  }),
  pauseRollout: endpoint({
    method: 'POST',
    audit: 'rollout.paused',
    path: `${base}/:id/pause`,
    auth: admin('operator'),
    params: one,
    body: z.strictObject({ reason: Reason.optional().meta({ description: 'Default: who paused it' }) }).prefault({}),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'CONFLICT'],
    summary: 'Pause a rollout: begins no further box; boxes in flight finish',
    spec: '4.6',
  }),
  resumeRollout: endpoint({
    method: 'POST',
    audit: 'rollout.resumed',
    path: `${base}/:id/resume`,
    auth: admin('operator'),
    params: one,
    /** Without `skipFailed` the failed boxes of the phase are retried; with it they are skipped. */
    body: z.strictObject({
      skipFailed: z.boolean().default(false),
      /** Boxes to skip by slug, failed or pending. */
      skip: TargetSlugs.optional(),
    }),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'CONFIG', 'CONFLICT'],
    summary: 'Resume a paused rollout in its phase; a running rollout is not changed',
    spec: '4.6',
  }),
  promoteRollout: endpoint({
    method: 'POST',
    audit: 'rollout.promoted',
    path: `${base}/:id/promote`,
    auth: admin('operator'),
    params: one,
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'CONFIG', 'CONFLICT'],
    summary: 'Continue a rollout past its hold, or begin its next phase without the rest of the bake and its gates',
  }),
  abortRollout: endpoint({
    method: 'POST',
    audit: 'rollout.failed',
    path: `${base}/:id/abort`,
    auth: admin('operator'),
    params: one,
    body: z.strictObject({ reason: Reason.optional().meta({ description: 'Default: who aborted it' }) }).prefault({}),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'CONFLICT'],
    summary: 'Abort a rollout: ends as failed; boxes in flight finish and are recorded',
    spec: '4.6',
  }),
  rollbackRollout: endpoint({
    method: 'POST',
    audit: 'rollout.rolled_back',
    path: `${base}/:id/rollback`,
    auth: admin('operator'),
    cost: 'plan',
    params: one,
    body: z.strictObject({
      reason: Reason,
      /** Updated boxes stay (`none`), return to their former images, or to the snapshot from before the update. */
      boxes: z.enum(['none', ...RollbackMode.options]).default('none'),
      /** Skips boxes that cannot be rolled back this way, which otherwise refuse the call. */
      skipRefused: z.boolean().default(false),
    }),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'CONFLICT', 'PLAN_REFUSED', 'ROLLOUT_ACTIVE', 'CONFIG'],
    summary: 'Roll a rollout back: ends as rolled back, and rolls its updated boxes back if requested; a finished one keeps its status',
    spec: '3.7',
  }),
  planRollback: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing' },
    path: `${base}/:id/rollback/plan`,
    auth: admin('viewer'),
    cost: 'plan',
    params: one,
    body: z.strictObject({ boxes: RollbackMode }),
    returns: RollbackPlan,
    problems: ['INVALID_TRANSITION'],
    summary: 'Preview a rollback of updated boxes and the data that they would lose (stores nothing)',
  }),
  resumeRollback: endpoint({
    method: 'POST',
    audit: 'rollout.rollback.resumed',
    path: `${base}/:id/rollback/resume`,
    auth: admin('operator'),
    params: one,
    returns: Rollout,
    problems: ['CONFLICT', 'CONFIG'],
    summary: 'Resume a stalled rollback: skips stopped boxes and retries failed ones',
  }),
  stopRollback: endpoint({
    method: 'POST',
    audit: 'rollout.rollback.stopped',
    path: `${base}/:id/rollback/stop`,
    auth: admin('operator'),
    params: one,
    body: z.strictObject({ reason: Reason }),
    returns: Rollout,
    problems: ['CONFLICT'],
    summary: 'Stop a rollback: rolls no further box back; boxes in flight finish',
  }),
  rolloutEvents: endpoint({
    method: 'GET',
    path: `${base}/:id/events`,
    auth: admin('viewer'),
    params: one,
    returns: sse(RolloutEvent),
    summary: 'Follow a rollout live; the header Last-Event-ID continues after an event, without it all events are sent',
  }),
} as const satisfies Contract
