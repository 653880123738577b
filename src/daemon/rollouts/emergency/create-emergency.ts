import { alertOf } from '../../../core/alerts/index.ts'
import { type AdminActor, actorLabel, problem, type Secret } from '../../../core/kit/index.ts'
import {
  cveIdIn,
  type EmergencyOrder,
  namedVersions,
  type RolloutDetail,
  readEmergencyOrder,
  type UncheckedOrder,
} from '../../../core/rollouts/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { raiseManifest } from '../../boxes/index.ts'
import { isUniqueViolation } from '../../db/index.ts'
import { askedOnce } from '../ask-registries.ts'
import type { RolloutsDeps } from '../deps.ts'
import { type PlanDeps, type Planned, planEmergency } from '../plan-rollout.ts'
import { newRollout, queueRollout } from '../queue-rollout.ts'
import { madeBefore, type Repeat, repeatOf } from '../repeated-call.ts'
import { showRollout } from '../show-rollout.ts'
import { requireApproval } from './require-approval.ts'

type Deps = PlanDeps & Pick<RolloutsDeps, 'rolloutBus' | 'requireSnapshots' | 'approvalTokenSha256'>

type Asked = UncheckedOrder & Readonly<{ approvalToken: Secret }>

/** So often somebody else may apply a manifest at the very same moment. */
const mostTries = 5

/**
 * Queues an emergency rollout (spec 4.6). In this order it throws RATE_LIMITED, CONFIG and AUTH for the token, CONFIG where there could be no
 * snapshots, VALIDATION for what is asked. The new manifest is stored with the rollout or not at all; one that is applied meanwhile is
 * built upon. With an Idempotency-Key a repeated call answers what the first one made.
 */
export async function createEmergency(
  deps: Deps,
  actor: AdminActor,
  { approvalToken, ...unchecked }: Asked,
  key?: string,
): Promise<RolloutDetail> {
  await requireApproval(deps, actor, approvalToken)
  deps.requireSnapshots()
  const order = readEmergencyOrder(unchecked, approvalToken)
  const repeat = key === undefined ? null : repeatOf(actor, { emergency: order }, withoutToken(key, approvalToken))
  const asking = { ...deps, askRegistries: deps.askRegistries && askedOnce(deps.askRegistries) }
  for (let tries = 1; ; tries++) {
    const made = repeat && (await madeBefore(deps.db, repeat))
    if (made) return showRollout(deps, made)
    const planned = await planEmergency(asking, order)
    if (await store(deps, actor, order, planned, repeat)) return showRollout(deps, planned.id)
    if (tries === mostTries) throw problem('CONFLICT', 'other manifests are being applied all the time: try again once they are')
  }
}

/** The key is kept as it is. */
function withoutToken(key: string, token: Secret): string {
  if (!key.includes(token.reveal())) return key
  const reason = 'holds the approval token, which is kept nowhere'
  throw problem('VALIDATION', `Idempotency-Key: ${reason}`, { details: [{ path: 'Idempotency-Key', reason }] })
}

/** False when the revision was taken meanwhile, or the same call was made at the same time: then nothing was stored. */
async function store(
  { db, clock, rolloutBus }: Deps,
  actor: AdminActor,
  order: EmergencyOrder,
  planned: Planned,
  repeat: Repeat | null,
): Promise<boolean> {
  const { reason, triggeredBy, ...targets } = order
  const { id, manifest, plan } = planned
  const cveId = cveIdIn(reason) as string
  const rollout = newRollout(clock, actor, planned, { reason, cveId, triggeredBy, ...asEmergency })
  const alert = alertOf.emergency_created({
    rolloutId: id,
    cveId,
    reason,
    boxes: plan.updates,
    by: `${actorLabel(actor)} (on the word of ${triggeredBy})`,
  })
  try {
    await db.transaction().execute(async (tx) => {
      const revision = plan.manifestRevision
      const changes = await raiseManifest(tx, clock, actor, { revision, manifest })
      await queueRollout(tx, clock, rollout, {
        ...{ plan, repeat, actor, alert },
        fixes: namedVersions(targets),
        data: { cveId, triggeredBy, targets },
      })
      const subject = `revision ${revision}`
      await recordAudit(tx, clock, { actor, action: 'manifest.applied', subject, data: { revision, changes, rolloutId: id } })
    })
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
  rolloutBus.changed(id)
  return true
}

/** The first failure of a phase stops it, as in any rollout; whoever is refused may be left out when it is started. */
const asEmergency = { failureThreshold: 1, skipRefused: false, holdAfter: null, fenceMode: 'until-stable' } as const
