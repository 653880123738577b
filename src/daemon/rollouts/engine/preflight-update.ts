import type { BoxCommandResult, VersionedService } from '../../../core/boxes/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import {
  aheadOfPlanFinding,
  changedImages,
  isDowngrade,
  type KnownBox,
  type Preflight,
  preflightBox,
  preflightRetry,
  refusalText,
} from '../../../core/rollouts/index.ts'
import type { StoredAction } from '../actions.repo.ts'
import { ranBefore, recordEvidence } from '../attempts.repo.ts'
import { emergencySince } from '../emergency/emergencies.repo.ts'
import { knownBox, observedBox } from '../known-boxes.ts'
import { updateAction } from '../publish.ts'
import { noLiveBox } from './begin-update.ts'
import { finishUpdate, type Outcome } from './finish-update.ts'
import { type ActionTx, type CommandOf, type LeasedRollout, onCommand, queueCommand, remainingMs } from './under-lease.ts'

type Observed = BoxCommandResult<'tenant-box.report_versions'>

/** The agent reported what runs: the box is skipped, refused, or prefetches its images while it serves. */
export const preflightUpdate = (leased: LeasedRollout, command: CommandOf, { report }: Observed): Promise<void> =>
  onCommand(leased, command, async (step) => {
    const { tx, deps, clock, rollout, action } = step
    const box = await knownBox(deps, tx, command.slug)
    if (!box) return finishUpdate(step, { status: 'failed', error: noLiveBox(command.slug) })
    const preflight = await preflightOf(step, observedBox(box, report, isoNow(clock)))
    const emergency = isDowngrade(preflight) ? await emergencySince(tx, rollout, action.boxId) : null
    const ahead = aheadOfPlanFinding(command.slug, preflight, emergency)
    const findings = ahead ? [ahead] : preflight.findings
    const outcome = ahead ? skipped : outcomeOf(preflight)
    if (outcome) return finishUpdate(step, { ...outcome, shows: { from: report.installed, findings }, evidence: { report } })
    await recordEvidence(tx, { actionId: action.id, attempt: action.attempt }, runningBefore(report))
    const images: StoredAction['images'] = Object.fromEntries(changedImages(rollout.manifest, action.tier, preflight.changes))
    const pulling: StoredAction = { ...action, from: report.installed, findings, status: 'pulling', images }
    const queued = await queuePrefetch({ ...step, action: pulling }, box)
    await updateAction(step, action, queued)
    return queued
  })

async function preflightOf({ tx, clock, deps, rollout, action }: ActionTx, box: KnownBox): Promise<Preflight> {
  const { staleAfterMs, schemas, daemonVersion } = deps
  const limits = { now: isoNow(clock), staleAfterMs, schemas, daemonVersion }
  if (action.attempt === 1) return preflightBox(box, action.to, limits)
  const before = await ranBefore(tx, action.id)
  return preflightRetry(box, action.to, limits, before && { pinned: rollout.digests, before })
}

const skipped: Outcome = { status: 'skipped', error: null }

function outcomeOf({ does, findings }: Preflight): Outcome | undefined {
  if (does === 'update') return undefined
  if (does === 'skip') return skipped
  return { status: 'failed', error: { code: 'PREFLIGHT_REFUSED', message: refusalText(findings) } }
}

/** Evidence of the versions before the update; a rollback by images restores them. */
function runningBefore({ services, facts }: Observed['report']) {
  const images = Object.entries(services).flatMap(([service, running]) => (running ? [[service, running.image]] : []))
  const digests = Object.entries(services).map(([service, running]) => [service, running?.digest ?? null])
  return {
    imagesBefore: Object.fromEntries(images),
    digestsBefore: Object.fromEntries(digests),
    backgroundBefore: facts?.backgroundUpdates ?? null,
  }
}

/** A pinned image is pulled by its digest, whatever its tag points to now. */
function queuePrefetch(step: ActionTx, { slug, boxId, ownershipEpoch }: KnownBox): Promise<StoredAction> {
  const { deps, rollout, action } = step
  const services = Object.entries(action.images).map(([service, image]) => [
    service as VersionedService,
    { image, digest: rollout.digests[image] },
  ])
  const targets = { services: Object.fromEntries(services), migrationsHead: action.to.migrationsHead }
  return queueCommand(step, {
    step: 'prefetch',
    kind: 'tenant-box.prefetch',
    payload: { slug, boxId, ownershipEpoch, targets },
    deadlineMs: remainingMs(deps, action),
  })
}
