import { type Actor, actorLabel, canonicalJson, isoNow, problem, sha256Hex } from '../../core/kit/index.ts'
import type { FenceMode, Phase, PlannedBox, RolloutDetail } from '../../core/rollouts/index.ts'
import { type Db, isUniqueViolation } from '../db/index.ts'
import { insertActions, type StoredAction } from './actions.repo.ts'
import type { RolloutsNeeds } from './needs.ts'
import { type PlanNeeds, type Planned, planStaged } from './plan-rollout.ts'
import { insertRollout, rolloutByKey, type StoredRollout } from './rollouts.repo.ts'
import { showRollout } from './show-rollout.ts'
import { tell, writeDown } from './tell.ts'

type Needs = PlanNeeds & Pick<RolloutsNeeds, 'rolloutBus'>

type Wanted = Readonly<{
  targetSlugs?: readonly string[] | undefined
  skipRefused: boolean
  allowLongFence: boolean
  failureThreshold: number
  holdAfter?: Phase | undefined
  fenceMode?: FenceMode
  reason?: string | undefined
}>

/** Plans and queues a rollout. With a key, a repeated call answers what the first one made; throws CONFLICT when it asks for something else. */
export async function createRollout(needs: Needs, actor: Actor, wanted: Wanted, key?: string): Promise<RolloutDetail> {
  const repeat = key === undefined ? null : repeatOf(actor, wanted, key)
  const made = repeat && (await madeBefore(needs.db, repeat))
  if (made) return showRollout(needs, made)
  const planned = await planStaged(needs, wanted)
  try {
    await store(needs, actor, wanted, planned, repeat)
  } catch (error) {
    // The same call at the same time was first.
    const other = repeat && isUniqueViolation(error) ? await madeBefore(needs.db, repeat) : undefined
    if (!other) throw error
    return showRollout(needs, other)
  }
  needs.rolloutBus.changed(planned.id)
  return showRollout(needs, planned.id)
}

type Repeat = Readonly<{ key: string; sum: string }>

function repeatOf(actor: Actor, wanted: Wanted, key: string): Repeat {
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw problem('VALIDATION', 'Idempotency-Key: must be 1 to 200 printable characters without spaces', {
      details: [{ path: 'Idempotency-Key', reason: 'must be 1 to 200 printable characters without spaces' }],
    })
  return { key: `${actorLabel(actor)} ${key}`, sum: sha256Hex(canonicalJson(wanted)) }
}

async function madeBefore(db: Db, { key, sum }: Repeat): Promise<string | undefined> {
  const made = await rolloutByKey(db, key)
  if (made && made.sum !== sum)
    throw problem('CONFLICT', `this Idempotency-Key made the rollout ${made.id} with other options: use a new key for another rollout`)
  return made?.id
}

async function store(
  { db, clock }: Needs,
  actor: Actor,
  wanted: Wanted,
  { id, manifest, plan }: Planned,
  repeat: Repeat | null,
): Promise<void> {
  const rollout: StoredRollout = {
    id,
    kind: plan.kind,
    status: 'queued',
    previousStatus: null,
    pauseReason: null,
    error: null,
    reason: wanted.reason ?? null,
    cveId: null,
    triggeredBy: null,
    createdBy: actorLabel(actor),
    manifestRevision: plan.manifestRevision,
    manifest,
    digests: {},
    targetSlugs: plan.targetSlugs,
    failureThreshold: wanted.failureThreshold,
    skipRefused: wanted.skipRefused,
    holdAfter: wanted.holdAfter ?? null,
    fenceMode: wanted.fenceMode ?? 'until-stable',
    createdAt: isoNow(clock),
    startedAt: null,
    finishedAt: null,
  }
  await db.transaction().execute(async (tx) => {
    await insertRollout(tx, rollout, plan, repeat)
    await insertActions(
      tx,
      plan.boxes.map((box) => actionFor(rollout, box)),
    )
    await tell(tx, clock, rollout, { type: 'rollout.created', reason: rollout.reason })
    const { manifestRevision, targetSlugs, reason, skipRefused, failureThreshold, holdAfter } = rollout
    const data = {
      kind: rollout.kind,
      manifestRevision,
      targetSlugs,
      reason,
      skipRefused,
      failureThreshold,
      holdAfter,
      updates: plan.updates,
    }
    await writeDown(tx, clock, rollout, { actor, action: 'rollout.created', data })
  })
}

/** A refused box stays pending unless it was waived: it keeps the rollout from starting. */
const actionFor = ({ id, skipRefused }: StoredRollout, box: PlannedBox): StoredAction => ({
  id: `${id}.${box.tenantSlug}`,
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
  startedAt: null,
  overdueAt: null,
  finishedAt: null,
  durationMs: null,
  fencedMs: null,
  error: null,
} as const satisfies Partial<StoredAction>
