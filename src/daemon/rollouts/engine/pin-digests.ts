import type { BoxCommandResult } from '../../../core/boxes/index.ts'
import { type ActionError, fenceNeedsMs } from '../../../core/rollouts/index.ts'
import type { Tx } from '../../db/index.ts'
import { replaceAction, type StoredAction } from '../actions.repo.ts'
import { replaceRollout, type StoredRollout } from '../rollouts.repo.ts'
import { tell } from '../tell.ts'
import { holdStill, isClosed } from './begin-action.ts'
import { boxInTurn } from './box-asked.repo.ts'
import { otherThanPlanned } from './other-than-planned.ts'
import { asOwner, awaiting, leftMs, type Owned, type Sent, send } from './owned.ts'
import { putOff } from './put-off.ts'
import { settle } from './settle.ts'

type Pulled = BoxCommandResult<'tenant-box.prefetch'>

/**
 * Where the plan could not, the first pull of a tag decides for the whole rollout what the tag is; with that known, the update itself is
 * ordered.
 */
export const pinDigests = (owned: Owned, slug: string, commandId: string, { digests }: Pulled): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const { deps } = owned
    const action = await awaiting(tx, rollout.id, slug, commandId)
    if (!action) return undefined
    const images = Object.values(action.images)
    const error = wrongDigest(rollout, slug, images, digests) ?? (await otherThanPlanned(tx, rollout, action, digests))
    if (error) return settle(tx, deps, rollout, action, { status: 'failed', error })
    const box = await boxInTurn(deps, tx, slug)
    if (!box)
      return settle(tx, deps, rollout, action, {
        status: 'failed',
        error: { code: 'NOT_FOUND', message: `${slug} has no live box any more` },
      })
    const pinned = { ...rollout.digests, ...Object.fromEntries(images.map((image) => [image, digests[image] as string])) }
    if (images.some((image) => rollout.digests[image] === undefined)) await replaceRollout(tx, rollout, { ...rollout, digests: pinned })
    if (isClosed(deps, rollout, box, fenceNeedsMs(action))) return putOff(tx, deps, rollout, action)
    const lost = await holdStill(tx, deps, rollout, slug, box)
    if (lost) return settle(tx, deps, rollout, action, { status: 'failed', error: lost })
    const updating = await update(tx, owned, rollout, { ...action, progress: null }, pinned, box.ownershipEpoch)
    await replaceAction(tx, action, updating)
    await tell(tx, deps.clock, rollout, { type: 'rollout.action', action: updating })
    return updating
  })

function wrongDigest(
  { digests: pinned }: StoredRollout,
  slug: string,
  images: readonly string[],
  pulled: Pulled['digests'],
): ActionError | undefined {
  for (const image of images) {
    const [planned, got] = [pinned[image], pulled[image]]
    if (!got) return { code: 'PULL_FAILED', message: `the agent of ${slug} did not say which image ${image} is` }
    if (planned && planned !== got)
      return {
        code: 'DIGEST_MISMATCH',
        message: `${image} is ${got} on the host of ${slug}, but this rollout began with ${planned}: somebody moved the tag. Nothing was stopped; a new rollout takes the tag as it is now`,
      }
  }
  return undefined
}

function update(
  tx: Tx,
  { deps }: Owned,
  { fenceMode }: StoredRollout,
  action: StoredAction,
  pinned: Readonly<Record<string, string>>,
  ownershipEpoch: number,
) {
  const { tenantSlug: slug, boxId, images, to } = action
  const services = Object.fromEntries(
    Object.entries(images).map(([service, image]) => [service, { image, digest: pinned[image] as string }]),
  )
  const deadlineMs = leftMs(deps, action)
  const targets = { services, migrationsHead: to.migrationsHead }
  const payload = { slug, boxId, ownershipEpoch, targets, probe: deps.probe, fence: { mode: fenceMode }, deadlineMs }
  return send(tx, deps, action, { step: 'update', kind: 'tenant-box.update', payload, deadlineMs })
}
