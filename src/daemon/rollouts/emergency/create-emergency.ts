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
import { applyNextManifest } from '../../boxes/index.ts'
import { isUniqueViolation } from '../../db/index.ts'
import { createdBefore, newRollout, queueRollout, type Repeat, repeatOf } from '../create-rollout.ts'
import type { RolloutsDeps } from '../deps.ts'
import { type PlanDeps, type Planned, planEmergency } from '../plan-rollout.ts'
import { askedOnce } from '../resolve-images.ts'
import { showRollout } from '../show-rollout.ts'
import { assertApproved } from './approval.ts'

type Deps = PlanDeps & Pick<RolloutsDeps, 'rolloutBus' | 'assertSnapshotsConfigured' | 'approvalTokenSha256'>

type Input = UncheckedOrder & Readonly<{ approvalToken: Secret }>

/** Retries where another manifest is applied at the same moment. */
const maxTries = 5

/**
 * Queues an emergency rollout (spec 4.6). Throws, in this order: RATE_LIMITED, CONFIG and AUTH for the token, CONFIG where snapshots are not
 * configured, VALIDATION for the order. The new manifest is stored with the rollout or not at all, on top of the newest one. With an
 * Idempotency-Key a repeated call answers the rollout of the first.
 */
export async function createEmergency(
  deps: Deps,
  actor: AdminActor,
  { approvalToken, ...unchecked }: Input,
  key?: string,
): Promise<RolloutDetail> {
  await assertApproved(deps, actor, approvalToken)
  deps.assertSnapshotsConfigured()
  const order = readEmergencyOrder(unchecked, approvalToken)
  const repeat = key === undefined ? null : repeatOf(actor, { emergency: order }, withoutToken(key, approvalToken))
  const asking = { ...deps, askRegistries: deps.askRegistries && askedOnce(deps.askRegistries) }
  for (let tries = 1; ; tries++) {
    const created = repeat && (await createdBefore(deps.db, repeat))
    if (created) return showRollout(deps, created)
    const planned = await planEmergency(asking, order)
    if (await store(deps, actor, order, planned, repeat)) return showRollout(deps, planned.id)
    if (tries === maxTries) throw problem('CONFLICT', 'other manifests were applied at the same moment. fix: retry')
  }
}

/** The key is stored in plain text. */
function withoutToken(key: string, token: Secret): string {
  if (!key.includes(token.reveal())) return key
  const reason = 'contains the approval token, which must not be stored'
  throw problem('VALIDATION', `Idempotency-Key: ${reason}`, { details: [{ path: 'Idempotency-Key', reason }] })
}

/** Answers false, with nothing stored, when the manifest revision was taken meanwhile or the same call was made at the same time. */
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
    by: `${actorLabel(actor)} (triggered by ${triggeredBy})`,
  })
  try {
    await db.transaction().execute(async (tx) => {
      const revision = plan.manifestRevision
      const changes = await applyNextManifest(tx, clock, actor, { revision, manifest })
      await queueRollout(
        { tx, clock, rollout },
        {
          ...{ plan, repeat, actor, alert },
          fixes: namedVersions(targets),
          data: { cveId, triggeredBy, targets },
        },
      )
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

/** The first failure of a phase stops it; blocked boxes may be skipped at the start. */
const asEmergency = { failureThreshold: 1, skipRefused: false, holdAfter: null, fenceMode: 'until-stable' } as const
