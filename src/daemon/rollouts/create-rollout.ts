import type { NewAlert } from '../../core/alerts/index.ts'
import type { Fix } from '../../core/boxes/index.ts'
import { type Actor, actorLabel, type Clock, canonicalJson, isoNow, problem, sha256Hex } from '../../core/kit/index.ts'
import {
  gatesOf,
  IdempotencyKey,
  type Phase,
  type PlannedBox,
  pinnedDigests,
  type RequestedFence,
  type RequestedSnapshot,
  type RolloutDetail,
  type RolloutPlan,
  unaskedGates,
} from '../../core/rollouts/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { type Db, isUniqueViolation } from '../db/index.ts'
import { actionId, insertActions, type StoredAction, untried } from './actions.repo.ts'
import type { RolloutsDeps } from './deps.ts'
import { type PlanDeps, type Planned, planStaged } from './plan-rollout.ts'
import { publishEvent, type RolloutTx, recordRolloutAudit } from './publish.ts'
import { insertRollout, rolloutByKey, type StoredRollout } from './rollouts.repo.ts'
import { keyOf, showRollout } from './show-rollout.ts'

type Deps = PlanDeps & Pick<RolloutsDeps, 'rolloutBus'>

type Input = Readonly<{
  targetSlugs?: readonly string[] | undefined
  skipRefused: boolean
  allowLongFence: boolean
  failureThreshold: number
  holdAfter?: Phase | undefined
  parallel?: number | undefined
  bakeMs?: number | undefined
  fenceMode?: RequestedFence
  snapshotMode?: RequestedSnapshot
  ignoreWindows?: boolean
  reason?: string | undefined
}>

type Keyed = Input & Readonly<{ idempotencyKey?: string | undefined }>

/** Plans and queues a rollout. With a key, a repeated call answers the rollout of the first; throws CONFLICT for another input. */
export async function createRollout(deps: Deps, actor: Actor, { idempotencyKey: key, ...input }: Keyed): Promise<RolloutDetail> {
  const repeat = key === undefined ? null : repeatOf(actor, input, key)
  const created = repeat && (await createdBefore(deps.db, repeat))
  if (created) return showRollout(deps, created)
  const planned = await planStaged(deps, input)
  try {
    await store(deps, actor, { input, planned, repeat })
  } catch (error) {
    // The same call at the same time came first.
    const other = repeat && isUniqueViolation(error) ? await createdBefore(deps.db, repeat) : undefined
    if (!other) throw error
    return showRollout(deps, other)
  }
  deps.rolloutBus.changed(planned.id)
  return showRollout(deps, planned.id)
}

type New = Readonly<{ input: Input; planned: Planned; repeat: Repeat | null }>

async function store({ db, clock }: Deps, actor: Actor, { input, planned, repeat }: New): Promise<void> {
  const rollout = newRollout(clock, actor, {
    planned,
    options: {
      reason: input.reason ?? null,
      cveId: null,
      triggeredBy: null,
      failureThreshold: input.failureThreshold,
      skipRefused: input.skipRefused,
      holdAfter: input.holdAfter ?? null,
      parallel: input.parallel ?? null,
      bakeMs: input.bakeMs ?? null,
      fenceMode: input.fenceMode ?? 'auto',
      snapshotMode: input.snapshotMode ?? 'auto',
      ignoreWindows: input.ignoreWindows ?? false,
    },
  })
  const data = { allowLongFence: input.allowLongFence }
  await db.transaction().execute((tx) => queueRollout({ tx, clock, rollout }, { plan: planned.plan, repeat, actor, data }))
}

/** The fields that the caller decides. */
type Options = Pick<StoredRollout, 'reason' | 'cveId' | 'triggeredBy' | 'failureThreshold' | 'skipRefused' | 'holdAfter' | 'fenceMode'> &
  Partial<Pick<StoredRollout, 'ignoreWindows' | 'parallel' | 'bakeMs' | 'snapshotMode'>>

/** A rollout before its start. */
export const newRollout = (
  clock: Clock,
  actor: Actor,
  { planned: { id, manifest, plan }, options }: Readonly<{ planned: Planned; options: Options }>,
): StoredRollout => ({
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
  snapshotMode: 'auto',
  parallel: null,
  bakeMs: null,
  bakeUntil: null,
  gates: unaskedGates(gatesOf(plan.kind, manifest)),
  queuedBehind: [],
  ...options,
})

type Queued = Readonly<{
  plan: RolloutPlan
  repeat: Repeat | null
  /** The versions of an emergency. */
  fixes?: Fix['versions']
  actor: Actor
  alert?: NewAlert
  /** Added to the audit entry. */
  data?: Readonly<Record<string, unknown>>
}>

/** Stores the rollout with one action per tenant, publishes and audits it. Call it last in the transaction. */
export async function queueRollout(step: RolloutTx, { plan, repeat, fixes, actor, alert, data: more = {} }: Queued): Promise<void> {
  const { tx, clock, rollout } = step
  await insertRollout(tx, rollout, { plan, repeat, fixes })
  await insertActions(
    tx,
    plan.boxes.map((box) => actionFor(rollout, box)),
  )
  await publishEvent(step, { type: 'rollout.created', reason: rollout.reason })
  if (alert) await raiseAlert(tx, clock, alert)
  const { kind, manifestRevision, digests, targetSlugs, reason, skipRefused, failureThreshold } = rollout
  const { holdAfter, parallel, bakeMs, ignoreWindows, fenceMode, snapshotMode } = rollout
  const data = {
    kind,
    manifestRevision,
    digests,
    targetSlugs,
    reason,
    skipRefused,
    failureThreshold,
    holdAfter,
    parallel,
    bakeMs,
    ignoreWindows,
    fenceMode,
    snapshotMode,
    updates: plan.updates,
    ...more,
  }
  await recordRolloutAudit(step, { actor, action: 'rollout.created', data })
}

/** A blocked box stays pending unless blocked boxes are skipped: it keeps the rollout from starting. */
export const actionFor = ({ id, skipRefused }: StoredRollout, box: PlannedBox): StoredAction => ({
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
  waived: box.does === 'refuse' && skipRefused,
  rollback: null,
  expectedMs: box.expectedMs,
  expectedFenceMs: box.expectedFenceMs,
  fenceMode: box.does === 'update' ? box.fenceMode : null,
  ...untried,
})

/** A call with an Idempotency-Key: the same key from the same caller with the same input creates one rollout. */
export type Repeat = Readonly<{ key: string; sum: string }>

/** `input` must not hold a secret: its checksum is stored. Throws VALIDATION for a malformed key. */
export function repeatOf(actor: Actor, input: unknown, key: string): Repeat {
  const refused = IdempotencyKey.safeParse(key).error?.issues[0]?.message
  if (refused !== undefined)
    throw problem('VALIDATION', `Idempotency-Key: ${refused}`, { details: [{ path: 'Idempotency-Key', reason: refused }] })
  return { key: keyOf(actor, key), sum: sha256Hex(canonicalJson(input)) }
}

/** The rollout of the first such call. Throws CONFLICT when that call had another input. */
export async function createdBefore(db: Db, { key, sum }: Repeat): Promise<string | undefined> {
  const created = await rolloutByKey(db, key)
  if (created && created.sum !== sum)
    throw problem(
      'CONFLICT',
      `this Idempotency-Key created rollout ${created.id} with other options. fix: use a new key for another rollout`,
    )
  return created?.id
}
