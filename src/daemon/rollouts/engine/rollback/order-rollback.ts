import type { BoxCommandResult } from '../../../../core/boxes/index.ts'
import {
  type ActionError,
  type CompletedUpdate,
  imageRollbackVulnerabilities,
  type KnownBox,
  refusalText,
  requestedSnapshot,
  rollbackFailed,
  snapshotOrder,
} from '../../../../core/rollouts/index.ts'
import type { StoredAction } from '../../actions.repo.ts'
import { fixesAround } from '../../emergency/emergencies.repo.ts'
import { knownBox } from '../../known-boxes.ts'
import { updateAction } from '../../publish.ts'
import { type ActionTx, type CommandOf, extendHold, type LeasedRollout, onCommand, queueCommand, remainingMs } from '../under-lease.ts'

import { finishRollback } from './finish-rollback.ts'
import { formerDigests, updateOf } from './former-update.ts'

type Pulled = BoxCommandResult<'tenant-box.prefetch'>

/** The former images are on the host: their digests are checked, and the rollback runs as a guarded update to them. */
export const orderRollback = (leased: LeasedRollout, command: CommandOf, { digests }: Pulled): Promise<void> =>
  onCommand(leased, command, async (step) => {
    const { tx, deps, rollout, action } = step
    const update = await updateOf(step)
    const box = await knownBox(deps, tx, command.slug)
    const fail = (error: ActionError) => finishRollback(step, { verdict: rollbackFailed(error) })
    if (!box) return fail({ code: 'NOT_FOUND', message: `${command.slug} has no live box any more` })
    const mismatch = wrongImages(action, update, digests)
    if (mismatch) return fail(mismatch)
    // An emergency may have started while the images were pulled.
    const refusal = refusalText(imageRollbackVulnerabilities(update, box, await fixesAround(tx, rollout)))
    if (refusal) return fail({ code: 'PREFLIGHT_REFUSED', message: refusal })
    const lost = await extendHold(step, box)
    if (lost) return fail(lost)
    const queued = await queueUpdate({ ...step, action: { ...action, progress: null } }, box, update)
    await updateAction(step, action, queued)
    return queued
  })

function wrongImages(action: StoredAction, update: CompletedUpdate, pulled: Pulled['digests']): ActionError | undefined {
  const former = formerDigests(action, update)
  const wrong = Object.entries(action.images).flatMap(([service, image]) => (pulled[image] === former[service] ? [] : [image]))
  if (wrong.length === 0) return undefined
  const message = `${wrong.join(', ')} on the host of ${action.tenantSlug} is not the image that ran before. Nothing was stopped`
  return { code: 'DIGEST_MISMATCH', message }
}

function queueUpdate(step: ActionTx, box: KnownBox, update: CompletedUpdate): Promise<StoredAction> {
  const { slug, boxId, ownershipEpoch, installed } = box
  const { deps, action, rollout } = step
  const former = formerDigests(action, update)
  const services = Object.fromEntries(
    Object.entries(action.images).map(([service, image]) => [service, { image, digest: former[service] as string }]),
  )
  const deadlineMs = remainingMs(deps, action)
  const targets = { services, migrationsHead: installed.migrationsHead }
  // Whatever the fence mode of the rollout: the box stays fenced until the former version is proven stable, so that it can be restored.
  const order = snapshotOrder(box, requestedSnapshot(rollout.snapshotMode, deps.snapshots, action.tier))
  const { copyBytesPerSecond } = deps
  const fence = { mode: 'until-stable', ...order, ...(order.snapshot === 'hot' ? { copyBytesPerSecond } : {}) } as const
  const payload = { slug, boxId, ownershipEpoch, targets, probe: deps.probe, fence, deadlineMs }
  return queueCommand(step, { step: 'update', kind: 'tenant-box.update', payload, deadlineMs })
}
