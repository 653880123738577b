import { boxCommands, isNonBlocking } from '../../core/boxes/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { dumpFolderOf } from '../backup/index.ts'
import { createFenceFile, readFence } from '../boxes/index.ts'
import { isAlive } from '../change/index.ts'
import type { BoxLocks } from '../journal/index.ts'
import { type MoveDeps, stopServices } from './fence-and-stop.ts'
import { unrecorded } from './remove.ts'
import { boxToBe } from './take-over.ts'
import { removeRebuilt } from './take-over-steps.ts'

type DisownDeps = Pick<MoveDeps, 'engine' | 'clock' | 'boxes' | 'journal' | 'settings' | 'workFolder'> & Readonly<{ locks: BoxLocks }>
type Disowned = Readonly<{ slug: string; boxId: string; ownershipEpoch: number }>

/** The holder in the fence of a box that was stopped because another host owns it. */
const holder = 'disowned'

/**
 * Stops a box that belongs to another host according to the daemon: fenced, stopped, marked as handed over under the new epoch, never removed.
 * A box without a record, which a lost state folder leaves, is found by its folder.
 * Commands of an older epoch are closed, and a half-made copy is removed. Returns whether this host had the box. Throws BOX_HELD while a
 * command works on it, BOX_UNHEALTHY when it does not stop.
 */
export async function disownBox(deps: DisownDeps, disowned: Disowned): Promise<boolean> {
  const lock = await deps.locks.acquire(disowned.slug)
  try {
    // First, or an agent that is killed in between would continue them and open the box that it has just stopped.
    await closeOlderCommands(deps, disowned)
    const stopped = await stopBox(deps, disowned)
    await removeRemains(deps, disowned)
    return stopped || (await stopUnrecorded(deps, disowned))
  } finally {
    await lock.release()
  }
}

async function stopBox({ engine, clock, boxes }: DisownDeps, { slug, boxId, ownershipEpoch }: Disowned): Promise<boolean> {
  const box = await boxes.find(slug)
  if (!box || box.boxId !== boxId) return false
  // A box of this epoch or a later one was assigned to this host after the daemon wrote the order.
  if (!box.handedOver && box.ownershipEpoch >= ownershipEpoch) return false
  // A box that cannot be fenced must be stopped all the same.
  if (box.managed) await createFenceFile(box.project, { commandId: holder, raisedAt: isoNow(clock) }).catch(() => undefined)
  await stopServices({ engine }, box, box.managed ? ['synapse', 'minio', 'postgres'] : ['synapse', 'minio', 'postgres', 'edge'])
  const fence = await readFence(box.project).catch(() => undefined)
  const handedOver = box.handedOver ?? { at: isoNow(clock), holder: fence?.holder ?? holder }
  await boxes.put({ ...box, ownershipEpoch: Math.max(ownershipEpoch, box.ownershipEpoch), handedOver })
  return true
}

/** Not while a command of this epoch or a later one is open: it records the box or removes it. */
async function stopUnrecorded(deps: DisownDeps, { slug, boxId }: Disowned): Promise<boolean> {
  const project = await unrecorded(deps, { slug, boxId })
  if (!project || (await deps.journal.open()).some((record) => record.slug === slug)) return false
  if (!(await deps.engine.containers(project)).some(isAlive)) return false
  await stopServices(deps, { slug, project }, ['synapse', 'minio', 'postgres', 'edge'])
  return true
}

/** The next agent must not continue what the former owner had begun. */
async function closeOlderCommands(deps: DisownDeps, { slug, boxId, ownershipEpoch }: Disowned): Promise<void> {
  for (const { commandId, kind, payload } of await deps.journal.open()) {
    const { boxId: of, ownershipEpoch: under } = payload as { boxId?: unknown; ownershipEpoch?: number }
    if (of !== boxId || isNonBlocking(kind) || under === undefined || under >= ownershipEpoch) continue
    if (kind === 'tenant-box.take_over' && !(await deps.boxes.find(slug))) await removeHalfMade(deps, commandId, payload)
    await deps.journal.close(commandId, null)
  }
}

async function removeHalfMade(deps: DisownDeps, commandId: string, input: unknown): Promise<void> {
  const payload = boxCommands['tenant-box.take_over'].payload.parse(input)
  await removeRebuilt({ deps, payload, box: boxToBe(deps, payload), folder: dumpFolderOf(deps.workFolder, commandId) })
}

/** A take-over that could not remove its copy may have left a server running that no record names. */
async function removeRemains(deps: DisownDeps, { slug, boxId, ownershipEpoch }: Disowned): Promise<void> {
  const records = (await deps.journal.all()).filter((record) => record.slug === slug)
  if ((await deps.boxes.find(slug)) || records.some(({ closed }) => !closed)) return
  const left = records.findLast(({ kind, payload, closed }) => {
    const { boxId: of, ownershipEpoch: under } = payload as { boxId?: unknown; ownershipEpoch?: number }
    const older = of === boxId && under !== undefined && under < ownershipEpoch
    return older && kind === 'tenant-box.take_over' && (closed?.result as { outcome?: unknown } | null)?.outcome === 'restore_failed'
  })
  if (left) await removeHalfMade(deps, left.commandId, left.payload)
}
