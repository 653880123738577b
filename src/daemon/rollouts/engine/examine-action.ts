import type { BoxCommandResult, VersionedService } from '../../../core/boxes/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import {
  aheadOfPlanFinding,
  changedImages,
  isDowngrade,
  type Preflight,
  preflightBox,
  preflightRetry,
  refusalText,
} from '../../../core/rollouts/index.ts'
import type { Tx } from '../../db/index.ts'
import { replaceAction, type StoredAction } from '../actions.repo.ts'
import { ranBefore, recordEvidence } from '../attempts.repo.ts'
import { emergencySince } from '../emergency/emergency-since.ts'
import type { StoredRollout } from '../rollouts.repo.ts'
import { tell } from '../tell.ts'
import { boxAsked } from './box-asked.repo.ts'
import { observedBox } from './observed-box.ts'
import { asOwner, awaiting, leftMs, type Owned, type Sent, send } from './owned.ts'
import { type Ending, settle } from './settle.ts'

type Observed = BoxCommandResult<'tenant-box.report_versions'>

/** What runs is known now: the box is left as it is, refused, or its images are pulled, which no user notices. */
export const examineAction = (owned: Owned, slug: string, commandId: string, { report }: Observed): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const { deps } = owned
    const action = await awaiting(tx, rollout.id, slug, commandId)
    if (!action) return undefined
    const box = await boxAsked(deps, tx, slug)
    if (!box)
      return settle(tx, deps, rollout, action, {
        status: 'failed',
        error: { code: 'NOT_FOUND', message: `${slug} has no live box any more` },
      })
    const now = isoNow(deps.clock)
    const seen = observedBox(box, report, now)
    const { staleAfterMs, schemas, daemonVersion } = deps
    const limits = { now, staleAfterMs, schemas, daemonVersion }
    const found =
      action.attempt > 1
        ? preflightRetry(seen, action.to, limits, await earlierOf(tx, rollout, action))
        : preflightBox(seen, action.to, limits)
    const ahead = isDowngrade(found) ? aheadOfPlanFinding(slug, found, await emergencySince(tx, rollout, action.boxId)) : undefined
    const before = { ...action, from: report.installed, findings: ahead ? [ahead] : found.findings }
    const ending = ahead ? passedOver : endingOf(found)
    if (ending)
      return settle(tx, deps, rollout, action, {
        ...ending,
        shows: { from: before.from, findings: before.findings },
        evidence: { report },
      })
    await recordEvidence(
      tx,
      { actionId: action.id, attempt: action.attempt },
      {
        imagesBefore: imagesOf(report),
        digestsBefore: digestsOf(report),
        backgroundBefore: report.facts?.backgroundUpdates ?? null,
      },
    )
    const images: StoredAction['images'] = Object.fromEntries(changedImages(rollout.manifest, action.tier, found.changes))
    const pulling = await prefetch(tx, owned, rollout, { ...before, status: 'pulling', images }, box.ownershipEpoch)
    await replaceAction(tx, action, pulling)
    await tell(tx, deps.clock, rollout, { type: 'rollout.action', action: pulling })
    return pulling
  })

async function earlierOf(tx: Tx, { digests: pinned }: StoredRollout, { id }: StoredAction) {
  const before = await ranBefore(tx, id)
  return before && { pinned, before }
}

const passedOver: Ending = { status: 'skipped', error: null }

function endingOf({ does, findings }: Preflight): Ending | undefined {
  if (does === 'update') return undefined
  if (does === 'skip') return passedOver
  return { status: 'failed', error: { code: 'PREFLIGHT_REFUSED', message: refusalText(findings) } }
}

const imagesOf = ({ services }: Observed['report']): Record<string, string> =>
  Object.fromEntries(Object.entries(services).flatMap(([service, running]) => (running ? [[service, running.image]] : [])))

const digestsOf = ({ services }: Observed['report']): Record<string, string | null> =>
  Object.fromEntries(Object.entries(services).map(([service, running]) => [service, running?.digest ?? null]))

/** What is pinned is pulled by its digest, wherever its tag has gone since. */
function prefetch(
  tx: Tx,
  { deps }: Owned,
  { digests }: StoredRollout,
  action: StoredAction,
  ownershipEpoch: number,
): Promise<StoredAction> {
  const { tenantSlug: slug, boxId, images, to } = action
  const services = Object.fromEntries(
    Object.entries(images).map(([service, image]) => [service as VersionedService, { image, digest: digests[image] }]),
  )
  const payload = { slug, boxId, ownershipEpoch, targets: { services, migrationsHead: to.migrationsHead } }
  return send(tx, deps, action, { step: 'prefetch', kind: 'tenant-box.prefetch', payload, deadlineMs: leftMs(deps, action) })
}
