import { type Actor, canonicalJson, type Problem, problem } from '../../core/kit/index.ts'
import { type PlannedBox, pinnedDigests, type RolloutPlan, refusalsOf } from '../../core/rollouts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { applyNextManifest, currentManifest, manifestByRevision } from '../boxes/index.ts'
import { type DbOrTx, isUniqueViolation } from '../db/index.ts'
import { actionsOf, insertActions, type StoredAction } from './actions.repo.ts'
import { actionFor } from './create-rollout.ts'
import { fixesOf } from './emergency/emergencies.repo.ts'
import { assertEmergencyRole } from './emergency/precedence.ts'
import { type PlanDeps, type Planned, planOfStored, planVersions } from './plan-rollout.ts'
import { publishActions, type RolloutTx, updateAction } from './publish.ts'
import { planOf, replacePlan, rolloutById, type StoredRollout } from './rollouts.repo.ts'

// Between the creation of a rollout and its start boxes end updates, come online or are added. The plan of an emergency is made again as a whole;
// that of a staged rollout keeps its phases, and only the boxes that it blocked are planned again.

const isBlocked = ({ findings }: Pick<StoredAction, 'findings'>): boolean => refusalsOf(findings).length > 0

/** Others applied versions since the approval, and an emergency has no canary for them. */
const manifestMoved = (id: string): Problem =>
  problem(
    'PLAN_STALE',
    `another manifest was applied after ${id} was approved. fix: create a new rollout with \`tenantry rollouts emergency\``,
  )

/** Undefined where the plan of the creation is still right, and for a rollout that cannot be started. Throws NOT_FOUND, FORBIDDEN. */
export async function planAgain(deps: PlanDeps, actor: Actor, id: string): Promise<Planned | undefined> {
  const rollout = await rolloutById(deps.db, id)
  if (rollout.status !== 'queued') return undefined
  if (rollout.kind === 'staged') {
    const blocked = (await actionsOf(deps.db, id, ['pending'])).some(isBlocked)
    return blocked ? planOfStored(deps, rollout) : undefined
  }
  assertEmergencyRole(actor)
  if (await isApplied(deps.db, rollout)) return planOfStored(deps, rollout)
  const versions = await fixesOf(deps.db, id)
  return versions && planVersions(deps, { id, versions })
}

/** `recordManifest` audits the new manifest; it comes last in the transaction. */
type Adopted = Readonly<{
  rollout: StoredRollout
  /** Boxes that were up to date at the creation, and are behind now. */
  takenIn: readonly string[]
  recordManifest: Applied
}>

/** Stores the plan that was made again. Answers the rollout as it is then. Throws PLAN_STALE. */
export async function adoptPlan(step: RolloutTx, actor: Actor, { plan, manifest }: Planned): Promise<Adopted> {
  const { tx, rollout } = step
  const former = new Map((await actionsOf(tx, rollout.id)).map((action) => [action.tenantSlug, action]))
  const isWhole = rollout.kind === 'emergency_cve'
  const next = {
    ...rollout,
    ...{ manifest, manifestRevision: plan.manifestRevision },
    // Approved digests stay pinned.
    digests: { ...pinnedDigests(plan), ...rollout.digests },
  }
  const recordManifest = isWhole ? await applyOnce(step, actor, { id: rollout.id, plan, manifest }) : nothingApplied
  const boxes = isWhole ? plan.boxes : plan.boxes.filter(({ tenantSlug }) => isWaiting(former.get(tenantSlug)))
  const changed: PlannedBox[] = []
  const added: StoredAction[] = []
  const takenIn: string[] = []
  for (const box of boxes) {
    const before = former.get(box.tenantSlug)
    const planned = isWhole || !before ? box : { ...box, phase: before.phase }
    const after = actionFor(next, planned)
    if (before?.status === 'skipped' && before.findings.length === 0 && after.status === 'pending') takenIn.push(box.tenantSlug)
    if (!before) added.push(after)
    else if (canonicalJson(before) !== canonicalJson(after)) await updateAction({ ...step, rollout: next }, before, after)
    changed.push(planned)
  }
  const planned = new Set(plan.boxes.map(({ tenantSlug }) => tenantSlug))
  for (const action of former.values())
    if (isWhole && !planned.has(action.tenantSlug) && action.status === 'pending')
      await updateAction({ ...step, rollout: next }, action, { ...action, status: 'skipped', waived: true })
  await insertActions(tx, added)
  await publishActions({ ...step, rollout: next }, added)
  await replacePlan(tx, next, isWhole ? plan : withBoxes(await planOf(tx, rollout.id), changed))
  return { rollout: next, takenIn, recordManifest }
}

const isWaiting = (action: StoredAction | undefined): boolean => action?.status === 'pending' && isBlocked(action)

function withBoxes(plan: RolloutPlan, changed: readonly PlannedBox[]): RolloutPlan {
  const bySlug = new Map(changed.map((box) => [box.tenantSlug, box]))
  const boxes = plan.boxes.map((box) => bySlug.get(box.tenantSlug) ?? box)
  const count = (does: PlannedBox['does']) => boxes.filter((box) => box.does === does).length
  return { ...plan, boxes, updates: count('update'), refusals: count('refuse') }
}

type Applied = () => Promise<void>
const nothingApplied: Applied = async () => undefined

/**
 * The versions of an emergency become the newest manifest when it starts: one that never starts leaves no revision. Answers the audit entry, which
 * comes last in the transaction.
 */
async function applyOnce({ tx, clock, rollout }: RolloutTx, actor: Actor, { plan, manifest }: Planned): Promise<Applied> {
  const revision = plan.manifestRevision
  const newest = (await currentManifest(tx)).revision
  if (newest >= revision && rollout.manifestRevision === revision && (await isApplied(tx, rollout))) return nothingApplied
  if (newest !== rollout.manifestRevision - 1) throw manifestMoved(rollout.id)
  try {
    const changes = await applyNextManifest({ tx, clock }, actor, { revision, manifest })
    const data = { revision, changes, rolloutId: rollout.id }
    return () => recordAudit(tx, clock, { actor, action: 'manifest.applied', subject: `revision ${revision}`, data })
  } catch (error) {
    if (isUniqueViolation(error)) throw manifestMoved(rollout.id)
    throw error
  }
}

/** True where the same versions were applied since the creation. */
async function isApplied(db: DbOrTx, { manifest, manifestRevision }: StoredRollout): Promise<boolean> {
  if ((await currentManifest(db)).revision < manifestRevision) return false
  return canonicalJson((await manifestByRevision(db, manifestRevision)).manifest) === canonicalJson(manifest)
}
