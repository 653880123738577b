import { type BoxCommandResult, targetImage, type VersionedService } from '../../../core/boxes/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import {
  aheadOfPlanFinding,
  calendarsFrom,
  changedImages,
  closedWindow,
  isDowngrade,
  type KnownBox,
  type Preflight,
  phaseOf,
  preflightBox,
  preflightRetry,
  refusalText,
  updateNeedsMs,
} from '../../../core/rollouts/index.ts'
import { replaceAction, type StoredAction, untried } from '../actions.repo.ts'
import { insertAttempt, ranBefore, recordEvidence } from '../attempts.repo.ts'
import { emergencySince } from '../emergency/emergencies.repo.ts'
import { knownBox, observedBox } from '../known-boxes.ts'
import { engineActor, recordRolloutAudit, updateAction } from '../publish.ts'
import { keepsWindows } from './engine-actions.repo.ts'
import { finishUpdate, type Outcome } from './finish-update.ts'
import {
  type ActionTx,
  type CommandOf,
  type EngineTx,
  holdForRollout,
  type LeasedRollout,
  onAction,
  onCommand,
  queueCommand,
  remainingMs,
} from './under-lease.ts'

/** A host that does not report its versions within this time fails the attempt and frees the slot. */
const maxObserveMs = 10 * 60_000

/**
 * First step of an update: holds the box and asks its agent what runs. The box stays pending where the rollout has left the phase, where
 * another owner holds the box, or where its window has closed.
 */
export const beginUpdate = (leased: LeasedRollout, slug: string): Promise<void> =>
  onAction(leased, slug, async (step) => {
    const { tx, deps, rollout, action } = step
    if (action.status !== 'pending' || phaseOf(rollout) !== action.phase) return undefined
    const box = await knownBox(deps, tx, slug)
    if (box && isWindowTooShort(step, box, updateNeedsMs(action))) return undefined
    if (box && !(await holdForRollout(step, box.boxId))) return undefined
    const begun = await openAttempt(step, box)
    if (!box) {
      await replaceAction(tx, action, begun)
      return finishUpdate({ ...step, action: begun }, { status: 'failed', error: noLiveBox(slug) })
    }
    const queued = await queueObservation({ ...step, action: begun }, box)
    await updateAction(step, action, queued)
    const data = { slug, attempt: queued.attempt, hostId: queued.hostId }
    await recordRolloutAudit(step, { actor: engineActor, action: 'rollout.action.begun', data })
    return queued
  })

async function openAttempt({ tx, clock, rollout, action }: ActionTx, box: KnownBox | undefined): Promise<StoredAction> {
  const at = isoNow(clock)
  const attempt = action.attempt + 1
  await insertAttempt(tx, { actionId: action.id, attempt, rolloutId: rollout.id, at })
  const place = box ? { boxId: box.boxId, hostId: box.hostId } : {}
  return { ...action, ...untried, ...place, status: 'preflight', attempt, startedAt: at }
}

/** Asks the agent which versions run, for the preflight of an update or of a rollback. */
export const queueObservation = (step: ActionTx, { slug, boxId, ownershipEpoch }: KnownBox): Promise<StoredAction> =>
  queueCommand(step, {
    step: 'observe',
    kind: 'tenant-box.report_versions',
    payload: { slug, boxId, ownershipEpoch },
    deadlineMs: Math.min(maxObserveMs, remainingMs(step.deps, step.action)),
  })

/** True where the maintenance window of the box is closed, or closes before `neededMs` are over. */
export function isWindowTooShort({ clock, rollout }: EngineTx, { window }: KnownBox, neededMs: number): boolean {
  const calendarOf = calendarsFrom(clock.now().getTime())
  return keepsWindows(rollout) && closedWindow(window, calendarOf, { now: isoNow(clock), neededMs }) !== null
}

export const noLiveBox = (slug: string) => ({
  code: 'NOT_FOUND',
  message: `${slug} has no live box any more. Resume the rollout without it`,
})

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
  const { staleAfterMs, schemas, upgrades } = deps
  const upgrade = { image: targetImage(rollout.manifest, action.tier, 'postgres'), maxAgeMs: upgrades.rehearsalMaxAgeMs }
  const limits = { now: isoNow(clock), staleAfterMs, schemas, upgrade }
  if (action.attempt === 1) return preflightBox(box, action.to, limits)
  const before = await ranBefore(tx, action.id)
  return preflightRetry(box, action.to, { ...limits, earlier: before && { pinned: rollout.digests, before } })
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
