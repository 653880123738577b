import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging, sse, Timestamp } from '../contract/index.ts'
import { RollbackMode, RolloutAction, RolloutAttempt } from './action.ts'
import { EmergencyTargets, hasNoTarget, targetNames } from './emergency.ts'
import { RolloutPlan } from './plan.ts'
import { RollbackPlan } from './plan-rollback.ts'
import { rehearseRollout } from './rehearsal-contract.ts'
import { proofContract } from './report-contract.ts'
import { FenceMode, Phase, Rollout, RolloutId, RolloutKind, RolloutStatus, RolloutSummary } from './rollout.ts'
import { RolloutEvent } from './rollout-event.ts'

const base = '/admin/tenant-boxes/rollouts'
const one = z.strictObject({ id: RolloutId })

/** Why somebody does it; it stands in the audit log. */
const Reason = z.string().trim().min(3).max(500)

/** Boxes whose chat would be away for longer than `fence.maxMinutes` are warned of and not refused. */
const AllowLongFence = z.boolean().default(false)

/** Boxes are updated outside their maintenance windows too. */
const IgnoreWindows = z.boolean().default(false)

const TargetSlugs = z.array(Slug).min(1).max(10_000)

/** What a call that may come again is known by. */
export const IdempotencyKey = z.string().regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 printable characters without spaces')

/** With the versions of an emergency it shows whom that would reach, which is the whole fleet. */
const PlanBody = EmergencyTargets.extend({
  kind: RolloutKind.default('staged'),
  targetSlugs: TargetSlugs.optional(),
  allowLongFence: AllowLongFence,
  ignoreWindows: IgnoreWindows,
})
  .refine(({ kind, ...body }) => kind === 'emergency_cve' || hasNoTarget(body), {
    path: ['kind'],
    message: 'must be emergency_cve for other versions than those of the manifest',
  })
  .refine(({ kind, targetSlugs }) => kind === 'staged' || targetSlugs === undefined, {
    path: ['targetSlugs'],
    message: 'must be left out: an emergency is for the whole fleet',
  })
  .refine(({ kind, ...body }) => kind === 'staged' || !hasNoTarget(body), {
    path: ['toChatServer'],
    message: `name at least one target: ${targetNames.join(', ')}`,
  })

export const RolloutDetail = Rollout.extend({
  plan: RolloutPlan,
  actions: z.array(RolloutAction),
  /** Give it as `Last-Event-ID` to the event stream: it goes on exactly after what is shown here. */
  lastEventId: z.string(),
})
export type RolloutDetail = z.infer<typeof RolloutDetail>

export const rolloutsContract = {
  ...proofContract,
  rehearseRollout,
  planRollout: endpoint({
    method: 'POST',
    path: `${base}/plan`,
    auth: admin('viewer'),
    body: PlanBody,
    returns: RolloutPlan,
    problems: ['NOT_FOUND'],
    summary: 'Show who would go when, from what to what; nothing is stored',
  }),
  createRollout: endpoint({
    method: 'POST',
    path: base,
    auth: admin('operator'),
    body: z.strictObject({
      targetSlugs: TargetSlugs.optional(),
      /** Boxes that the plan refuses become `skipped` instead of keeping the rollout from starting. */
      skipRefused: z.boolean().default(false),
      allowLongFence: AllowLongFence,
      ignoreWindows: IgnoreWindows,
      failureThreshold: z.number().int().min(1).max(1000).default(1),
      holdAfter: Phase.optional(),
      fenceMode: FenceMode.default('until-stable'),
      reason: Reason.optional(),
    }),
    returns: RolloutDetail,
    status: 201,
    problems: ['NOT_FOUND', 'CONFLICT'],
    summary: 'Plan and queue a rollout to the current manifest; the header Idempotency-Key makes a repeated call answer the same rollout',
    spec: '4.6',
  }),
  listRollouts: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    query: Paging.extend({
      status: RolloutStatus.optional(),
      kind: RolloutKind.optional(),
      since: Timestamp.optional().meta({ description: 'Made then or later' }),
      idempotencyKey: IdempotencyKey.optional().meta({ description: 'The one that the caller made with this Idempotency-Key' }),
    }),
    returns: z.object({ rollouts: z.array(RolloutSummary), nextCursor: z.string().nullable() }),
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
    summary: 'Show what proves the outcome for one tenant, attempt by attempt',
  }),
  startRollout: endpoint({
    method: 'POST',
    path: `${base}/:id/start`,
    auth: admin('operator'),
    params: one,
    /** Nothing need be sent. `skipRefused` leaves out boxes that the plan refuses, also where creating it could not say so. */
    body: z.strictObject({ skipRefused: z.boolean().default(false) }).prefault({}),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'PLAN_STALE', 'PLAN_REFUSED', 'CONFIG', 'CONFLICT'],
    summary: 'Start execution in the background; an emergency is started by admins only and pauses staged rollouts that run',
    spec: '4.6',
  }),
  pauseRollout: endpoint({
    method: 'POST',
    path: `${base}/:id/pause`,
    auth: admin('operator'),
    params: one,
    body: z.strictObject({ reason: Reason }),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'CONFLICT'],
    summary: 'Start no further tenant; those under way finish',
    spec: '4.6',
  }),
  resumeRollout: endpoint({
    method: 'POST',
    path: `${base}/:id/resume`,
    auth: admin('operator'),
    params: one,
    /** Without `skipFailed` the failed tenants of the phase are tried again; with it they are left out. */
    body: z.strictObject({
      skipFailed: z.boolean().default(false),
      /** Tenants to leave out by name, failed or not begun yet: one whose box somebody else holds and does not give back. */
      skip: TargetSlugs.optional(),
    }),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'CONFIG', 'CONFLICT'],
    summary: 'Go back to the phase before the pause; on a running rollout it changes nothing',
    spec: '4.6',
  }),
  abortRollout: endpoint({
    method: 'POST',
    path: `${base}/:id/abort`,
    auth: admin('operator'),
    params: one,
    body: z.strictObject({ reason: Reason.optional() }),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'CONFLICT'],
    summary: 'End it as failed; tenants under way finish and are recorded',
    spec: '4.6',
  }),
  rollbackRollout: endpoint({
    method: 'POST',
    path: `${base}/:id/rollback`,
    auth: admin('operator'),
    params: one,
    body: z.strictObject({
      reason: Reason,
      /** What happens to boxes that are updated already: they stay, go back to the images they had, or to the snapshot from before. */
      boxes: z.enum(['none', ...RollbackMode.options]).default('none'),
      /** Boxes that cannot be brought back this way stay as they are instead of keeping the call from being made. */
      skipRefused: z.boolean().default(false),
    }),
    returns: Rollout,
    problems: ['INVALID_TRANSITION', 'CONFLICT', 'PLAN_REFUSED', 'CONFIG'],
    summary: 'End it as rolled back, and bring its updated boxes back where that is asked for',
    spec: '3.7',
  }),
  planUndo: endpoint({
    method: 'POST',
    path: `${base}/:id/rollback/plan`,
    auth: admin('viewer'),
    params: one,
    body: z.strictObject({ boxes: RollbackMode }),
    returns: RollbackPlan,
    problems: ['INVALID_TRANSITION'],
    summary: 'Show which updated boxes could be brought back, how, and what they would lose; nothing is stored',
  }),
  resumeUndo: endpoint({
    method: 'POST',
    path: `${base}/:id/undo/resume`,
    auth: admin('operator'),
    params: one,
    returns: Rollout,
    problems: ['CONFLICT', 'CONFIG'],
    summary:
      'Go on bringing boxes back after one came to rest: it is passed over, and those that could not be brought back are tried again',
  }),
  stopUndo: endpoint({
    method: 'POST',
    path: `${base}/:id/undo/stop`,
    auth: admin('operator'),
    params: one,
    body: z.strictObject({ reason: Reason }),
    returns: Rollout,
    problems: ['CONFLICT'],
    summary: 'Bring no further box back; those on their way finish',
  }),
  rolloutEvents: endpoint({
    method: 'GET',
    path: `${base}/:id/events`,
    auth: admin('viewer'),
    params: one,
    returns: sse(RolloutEvent),
    summary: 'Follow a rollout live; the header Last-Event-ID continues after an event, without it the whole story is replayed',
  }),
} as const satisfies Contract
