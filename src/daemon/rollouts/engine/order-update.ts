import { type BoxCommandResult, VersionedService } from '../../../core/boxes/index.ts'
import {
  type ActionError,
  chooseFence,
  fenceNeedsMs,
  isUpgrade,
  type KnownBox,
  type RolloutPlan,
  rehearsedDigestFindings,
  requestedFence,
  requestedSnapshot,
} from '../../../core/rollouts/index.ts'
import type { Tx } from '../../db/index.ts'
import type { StoredAction } from '../actions.repo.ts'
import { attemptsOf } from '../attempts.repo.ts'
import { knownBox } from '../known-boxes.ts'
import { updateAction } from '../publish.ts'
import { planOf, replaceRollout, type StoredRollout } from '../rollouts.repo.ts'
import { postponeUpdate } from './close-attempt.ts'
import { finishUpdate } from './finish-update.ts'
import { isWindowTooShort, noLiveBox } from './preflight-update.ts'
import { type ActionTx, type CommandOf, extendHold, type LeasedRollout, onCommand, queueCommand, remainingMs } from './under-lease.ts'

type Pulled = BoxCommandResult<'tenant-box.prefetch'>

/**
 * The images are on the host: their digests are checked and the guarded update is ordered. A tag that the plan could not resolve is pinned
 * here for the whole rollout, by the first box that pulled it.
 */
export const orderUpdate = (leased: LeasedRollout, command: CommandOf, { digests }: Pulled): Promise<void> =>
  onCommand(leased, command, async (step) => {
    const { tx, deps, rollout, action } = step
    const images = Object.values(action.images)
    const mismatch = wrongDigest(rollout, action, digests) ?? (await otherThanPlanned(step, digests))
    if (mismatch) return finishUpdate(step, { status: 'failed', error: mismatch })
    const box = await knownBox(deps, tx, command.slug)
    if (!box) return finishUpdate(step, { status: 'failed', error: noLiveBox(command.slug) })
    const unrehearsed = otherThanRehearsed(box, action, digests)
    if (unrehearsed) return finishUpdate(step, { status: 'failed', error: unrehearsed })
    const pinned = { ...rollout.digests, ...Object.fromEntries(images.map((image) => [image, digests[image] as string])) }
    if (images.some((image) => rollout.digests[image] === undefined)) await replaceRollout(tx, rollout, { ...rollout, digests: pinned })
    if (isWindowTooShort(step, box, fenceNeedsMs(action))) return postponeUpdate(step)
    const lost = await extendHold(step, box)
    if (lost) return finishUpdate(step, { status: 'failed', error: lost })
    const queued = await queueUpdate({ ...step, action: { ...action, progress: null } }, box, pinned)
    await updateAction(step, action, queued)
    return queued
  })

/** The error where a pulled image differs from the digest that the rollout pinned. */
function wrongDigest(
  { digests: pinned }: StoredRollout,
  { tenantSlug: slug, images }: StoredAction,
  pulled: Pulled['digests'],
): ActionError | undefined {
  for (const image of Object.values(images)) {
    const [expected, got] = [pinned[image], pulled[image]]
    if (!got) return { code: 'PULL_FAILED', message: `the agent of ${slug} did not report the digest of ${image}` }
    if (expected && expected !== got) {
      const message = `${image} is ${got} on the host of ${slug}, but this rollout pinned ${expected}: the tag was moved. Nothing was stopped. A new rollout uses the tag as it is now`
      return { code: 'DIGEST_MISMATCH', message }
    }
  }
  return undefined
}

/** The error where the pulled PostgreSQL of another major version is not the one that was rehearsed. */
function otherThanRehearsed(box: KnownBox, { to, images }: StoredAction, pulled: Pulled['digests']): ActionError | undefined {
  const image = images.postgres
  if (image === undefined || !isUpgrade(box.installed, to)) return undefined
  const [finding] = rehearsedDigestFindings(box, image, pulled[image])
  return finding && { code: 'DIGEST_MISMATCH', message: `${finding.message}. Nothing was stopped` }
}

/**
 * The plan showed which image the fleet runs under a tag. A first pull that finds another one fails the attempt once: an operator who has
 * seen that digest and resumes the rollout accepts it.
 */
async function otherThanPlanned(
  { tx, rollout, action }: Readonly<{ tx: Tx; rollout: Pick<StoredRollout, 'id' | 'digests'>; action: StoredAction }>,
  pulled: Readonly<Record<string, string>>,
): Promise<ActionError | undefined> {
  const unpinned = [...new Set(Object.values(action.images))].filter((image) => rollout.digests[image] === undefined)
  if (unpinned.length === 0) return undefined
  const plan = await planOf(tx, rollout.id)
  const moved = unpinned.flatMap((image) => {
    const planned = plannedDigest(plan, image)
    return planned === null || planned === pulled[image] ? [] : [{ found: `${image} is ${pulled[image]}`, planned }]
  })
  const reported = moved.length === 0 ? [] : await mismatchesBefore(tx, action)
  if (moved.every(({ found }) => reported.some((message) => message.includes(found)))) return undefined
  const found = moved.map((one) => `${one.found} on the host of ${action.tenantSlug}, but the plan showed ${one.planned} from the fleet`)
  const next = 'the tag was moved. Nothing was stopped. Resume the rollout to use the tag as it is now'
  return { code: 'DIGEST_MISMATCH', message: `${found.join('; ')}: ${next}` }
}

const plannedDigest = ({ boxes }: RolloutPlan, searched: string): string | null => {
  for (const { images } of boxes) for (const { image, digest } of Object.values(images)) if (image === searched) return digest
  return null
}

/** The digest mismatches that earlier attempts reported. */
const mismatchesBefore = async (tx: Tx, { id, attempt: current }: StoredAction): Promise<string[]> =>
  (await attemptsOf(tx, id)).flatMap(({ attempt, error }) =>
    attempt < current && error?.code === 'DIGEST_MISMATCH' ? [error.message] : [],
  )

function queueUpdate(step: ActionTx, box: KnownBox, pinned: Readonly<Record<string, string>>) {
  const { slug, boxId, ownershipEpoch } = box
  const { deps, action } = step
  const services = Object.fromEntries(
    Object.entries(action.images).map(([service, image]) => [service, { image, digest: pinned[image] as string }]),
  )
  const deadlineMs = remainingMs(deps, action)
  const targets = { services, migrationsHead: action.to.migrationsHead }
  // As the agent reported the box just now: the plan may be days old.
  const { reason: _, way, ...chosen } = chooseFence(box, { to: action.to, changes: changedServices(action), ...requestOf(step) }, deps)
  const { copyBytesPerSecond, upgrades } = deps
  const fence = {
    ...{ ...chosen, ...(chosen.snapshot === 'hot' ? { copyBytesPerSecond } : {}) },
    ...(way === undefined ? {} : { upgrade: { way, keepFormerDays: upgrades.keepFormerDays } }),
  }
  const payload = { slug, boxId, ownershipEpoch, targets, probe: deps.probe, fence, deadlineMs }
  const ordered = { ...step, action: { ...action, fenceMode: fence.mode } }
  return queueCommand(ordered, { step: 'update', kind: 'tenant-box.update', payload, deadlineMs })
}

const changedServices = ({ images }: StoredAction): VersionedService[] =>
  VersionedService.options.filter((service) => images[service] !== undefined)

const requestOf = ({ deps, rollout, action: { tier } }: ActionTx) => ({
  requested: requestedFence(rollout.fenceMode, deps.fences, tier),
  snapshot: requestedSnapshot(rollout.snapshotMode, deps.snapshots, tier),
})
