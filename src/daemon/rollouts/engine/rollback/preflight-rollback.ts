import type { BoxCommandResult } from '../../../../core/boxes/index.ts'
import { isoNow, problem } from '../../../../core/kit/index.ts'
import {
  awaitsRollback,
  type CompletedUpdate,
  isOver,
  type KnownBox,
  type PlannedRollback,
  planBoxRollback,
  refusalText,
  rollbackFailed,
  rolledBack,
} from '../../../../core/rollouts/index.ts'
import { recordRestore } from '../../../snapshots/index.ts'
import { replaceAction, type StoredAction } from '../../actions.repo.ts'
import { insertAttempt, recordEvidence } from '../../attempts.repo.ts'
import { fixesAround } from '../../emergency/emergencies.repo.ts'
import { knownBox, observedBox } from '../../known-boxes.ts'
import { engineActor, recordRolloutAudit, updateAction } from '../../publish.ts'
import { queueObservation } from '../preflight-update.ts'
import {
  type ActionTx,
  type CommandOf,
  extendHold,
  holdForRollout,
  type LeasedRollout,
  onAction,
  onCommand,
  queueCommand,
  remainingMs,
} from '../under-lease.ts'
import { finishRollback } from './finish-rollback.ts'
import { updateOf } from './former-update.ts'

/**
 * First step of a rollback: holds the box and asks its agent what runs. Nothing happens where the box waits for a rollback no longer, or
 * where another owner holds it: then it waits.
 */
export const beginRollback = (leased: LeasedRollout, slug: string): Promise<void> =>
  onAction(leased, slug, async (step) => {
    const { tx, deps, rollout, action } = step
    if (!awaitsRollback(action) || !isOver(rollout.status)) return undefined
    const box = await knownBox(deps, tx, slug)
    const isSameBox = box?.boxId === action.boxId
    if (isSameBox && !(await holdForRollout(step, box.boxId))) return undefined
    const begun = { ...step, action: await openAttempt(step, box?.hostId ?? action.hostId) }
    if (!isSameBox) return finishRollback(begun, { verdict: rollbackFailed(replaced(slug)) })
    const queued = await queueObservation(begun, box)
    await updateAction(begun, begun.action, queued)
    const data = { slug, attempt: queued.attempt, hostId: queued.hostId, by: action.rollback?.mode }
    await recordRolloutAudit(step, { actor: engineActor, action: 'rollout.action.rollback_begun', data })
    return queued
  })

const replaced = (slug: string) => ({ code: 'NOT_FOUND', message: `the box of ${slug} that was updated is not its live box any more` })

/** The action keeps what its update did to it until the rollback ends. */
async function openAttempt({ tx, clock, rollout, action }: ActionTx, hostId: string): Promise<StoredAction> {
  const at = isoNow(clock)
  const mode = action.rollback?.mode ?? 'images'
  const begun: StoredAction = {
    ...action,
    ...unreported,
    hostId,
    status: 'rolling_back',
    rollback: { mode, status: 'running', error: null },
    attempt: action.attempt + 1,
    startedAt: at,
  }
  await replaceAction(tx, action, begun)
  const which = { actionId: action.id, attempt: begun.attempt }
  await insertAttempt(tx, { ...which, kind: `rollback-${mode}`, rolloutId: rollout.id, at })
  await recordEvidence(tx, which, { status: 'rolling_back' })
  return begun
}

const unreported = {
  step: null,
  commandId: null,
  images: {},
  progress: null,
  finishedAt: null,
  overdueAt: null,
  durationMs: null,
  fencedMs: null,
  error: null,
} as const

type Report = BoxCommandResult<'tenant-box.report_versions'>['report']

/** The agent reported what runs: the rollback is refused, or its prefetch (by images) or restore (by snapshot) is ordered. */
export const preflightRollback = (leased: LeasedRollout, command: CommandOf, { report }: { report: Report }): Promise<void> =>
  onCommand(leased, command, async (step) => {
    const { tx, deps, clock, action } = step
    const update = await updateOf(step)
    const known = await knownBox(deps, tx, command.slug)
    const box = known && observedBox(known, report, isoNow(clock))
    const planned = planBoxRollback({ mode: action.rollback?.mode ?? 'images', update, box }, await limitsOf(step))
    if (planned.does === 'skip') return finishRollback(step, { verdict: rolledBack, evidence: { report } })
    if (!box || planned.does !== 'rollback') {
      const error = { code: 'PREFLIGHT_REFUSED', message: refusalText(planned.findings) }
      return finishRollback(step, { verdict: rollbackFailed(error), evidence: { report } })
    }
    const lost = await extendHold(step, box)
    if (lost) return finishRollback(step, { verdict: rollbackFailed(lost), evidence: { report } })
    await recordEvidence(tx, { actionId: action.id, attempt: action.attempt }, runningNow(report))
    const queued = planned.snapshotId === null ? await queuePrefetch(step, box, planned) : await queueRestore(step, box, update)
    await updateAction(step, action, queued)
    return queued
  })

async function limitsOf({ tx, clock, deps, rollout }: ActionTx) {
  const { staleAfterMs, schemas } = deps
  return { now: isoNow(clock), staleAfterMs, schemas, fixes: await fixesAround(tx, rollout) }
}

const runningNow = ({ services }: Report) => {
  const running = Object.entries(services).flatMap(([service, one]) => (one ? [[service, one] as const] : []))
  return {
    imagesBefore: Object.fromEntries(running.map(([service, { image }]) => [service, image])),
    digestsBefore: Object.fromEntries(running.map(([service, { digest }]) => [service, digest])),
  }
}

/** By images: the former images are pulled and pinned before any downtime. The box keeps its migrations head. */
function queuePrefetch(
  step: ActionTx,
  { slug, boxId, ownershipEpoch, installed }: KnownBox,
  planned: PlannedRollback,
): Promise<StoredAction> {
  const images = Object.fromEntries(Object.entries(planned.images).map(([service, { image }]) => [service, image]))
  const action = { ...step.action, images }
  const targets = { services: planned.images, migrationsHead: installed.migrationsHead }
  return queueCommand(
    { ...step, action },
    {
      step: 'prefetch',
      kind: 'tenant-box.prefetch',
      payload: { slug, boxId, ownershipEpoch, targets },
      deadlineMs: remainingMs(step.deps, action),
    },
  )
}

/** By snapshot: the agent fetches the snapshot while the box serves, and takes one of what is there now in case the restore fails. */
async function queueRestore(
  step: ActionTx,
  { slug, boxId, ownershipEpoch }: KnownBox,
  { snapshot }: CompletedUpdate,
): Promise<StoredAction> {
  const { tx, clock, deps, rollout, action } = step
  if (!snapshot) throw problem('INTERNAL', `a restore of ${slug} was planned without a snapshot`)
  const { snapshotId, sha256: snapshotSha256 } = snapshot
  const deadlineMs = remainingMs(deps, action)
  const payload = { slug, boxId, ownershipEpoch, snapshotId, snapshotSha256, probe: deps.probe, deadlineMs }
  const queued = await queueCommand(step, { step: 'restore', kind: 'tenant-box.restore', payload, deadlineMs })
  const reason = `rollout ${rollout.id} was rolled back: ${rollout.error ?? ''}`
  await recordRestore(tx, clock, { commandId: queued.commandId as string, boxId, snapshotId, reason })
  await recordEvidence(tx, { actionId: action.id, attempt: action.attempt }, { snapshotId, snapshotSha256 })
  return queued
}
