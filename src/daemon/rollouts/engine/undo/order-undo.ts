import type { BoxCommandResult } from '../../../../core/boxes/index.ts'
import { type CompletedUpdate, imageRollbackVulnerabilities, refusalText, rollbackFailed } from '../../../../core/rollouts/index.ts'
import { replaceAction, type StoredAction } from '../../actions.repo.ts'
import { fixesAround } from '../../emergency/fixes.repo.ts'
import { knownBox } from '../../known-boxes.ts'
import { tell } from '../../tell.ts'
import { holdStill } from '../begin-action.ts'
import { asOwner, awaiting, leftMs, type Owned, type Sent, send } from '../owned.ts'
import { updateOf } from './examine-undo.ts'
import { settleUndo } from './settle-undo.ts'

type Pulled = BoxCommandResult<'tenant-box.prefetch'>

/** The former images are on the host, and are what ran before: the box goes back to them by the same guarded update that brought it here. */
export const orderUndo = (owned: Owned, slug: string, commandId: string, { digests: pulled }: Pulled): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const { deps } = owned
    const action = await awaiting(tx, rollout.id, slug, commandId)
    if (!action) return undefined
    const box = await knownBox(deps, tx, slug)
    const update = await updateOf(tx, rollout.id, slug)
    const wanted = formerDigests(action, update)
    const other = Object.entries(action.images).filter(([service, image]) => pulled[image] !== wanted[service])
    if (!box || other.length > 0) {
      const message = box
        ? `${other.map(([, image]) => image).join(', ')} on the host of ${slug} is not the image that ran before; nothing was stopped`
        : `${slug} has no live box any more`
      return settleUndo(tx, deps, rollout, action, { verdict: rollbackFailed({ code: box ? 'DIGEST_MISMATCH' : 'NOT_FOUND', message }) })
    }
    const holes = refusalText(imageRollbackVulnerabilities(update, box, await fixesAround(tx, rollout)))
    if (holes) return settleUndo(tx, deps, rollout, action, { verdict: rollbackFailed({ code: 'PREFLIGHT_REFUSED', message: holes }) })
    const lost = await holdStill(tx, deps, rollout, slug, box)
    if (lost) return settleUndo(tx, deps, rollout, action, { verdict: rollbackFailed(lost) })
    const services = Object.fromEntries(
      Object.entries(action.images).map(([service, image]) => [service, { image, digest: wanted[service] as string }]),
    )
    const deadlineMs = leftMs(deps, action)
    const { boxId, ownershipEpoch, installed } = box
    const targets = { services, migrationsHead: installed.migrationsHead }
    // Whatever the rollout did: a way back stays shut until it has proven stable, so that it can be taken back itself.
    const payload = { slug, boxId, ownershipEpoch, targets, probe: deps.probe, fence: { mode: 'until-stable' }, deadlineMs } as const
    const sent = await send(tx, deps, { ...action, progress: null }, { step: 'update', kind: 'tenant-box.update', payload, deadlineMs })
    await replaceAction(tx, action, sent)
    await tell(tx, deps.clock, rollout, { type: 'rollout.action', action: sent })
    return sent
  })

/** Of each service that goes back by its image. */
export const formerDigests = ({ images }: StoredAction, { digestsBefore }: CompletedUpdate): Record<string, string> =>
  Object.fromEntries(
    Object.keys(images).flatMap((service) => {
      const digest = digestsBefore[service]
      return digest ? [[service, digest]] : []
    }),
  )
