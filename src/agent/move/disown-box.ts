import { boxCommands, isNonBlocking } from '../../core/boxes/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { dumpFolderOf } from '../backup/index.ts'
import { placeSwitch, readFence } from '../boxes/index.ts'
import type { BoxLocks } from '../journal/index.ts'
import type { MoveDeps } from './deps.ts'
import { bringToRest } from './rest.ts'
import { boxToBe } from './take-over.ts'
import { clearAway } from './take-over-steps.ts'

type DisownDeps = Pick<MoveDeps, 'engine' | 'clock' | 'boxes' | 'journal' | 'settings' | 'workFolder'> & Readonly<{ locks: BoxLocks }>
type Disowned = Readonly<{ slug: string; boxId: string; ownershipEpoch: number }>

/** What the fence of a box says that was stopped because it has another owner. */
const holder = 'disowned'

/**
 * Stops a box that the daemon says is another host's: fenced, stopped, marked as handed over under the new epoch, never removed. What was
 * begun on it under an older epoch is over, and a half-made copy of it goes. Answers whether this host had it. Throws BOX_HELD while a command
 * works on it, BOX_UNHEALTHY when it does not stop.
 */
export async function disownBox(deps: DisownDeps, disowned: Disowned): Promise<boolean> {
  const lock = await deps.locks.acquire(disowned.slug)
  try {
    // First: an agent killed in between would go on with them, and open the box that it had just stopped.
    await endCommands(deps, disowned)
    const stopped = await stopBox(deps, disowned)
    await clearRemains(deps, disowned)
    return stopped
  } finally {
    await lock.release()
  }
}

async function stopBox({ engine, clock, boxes }: DisownDeps, { slug, boxId, ownershipEpoch }: Disowned): Promise<boolean> {
  const box = await boxes.find(slug)
  if (!box || box.boxId !== boxId) return false
  // What is ours under this epoch or a later one was given to us after the daemon wrote that.
  if (!box.handedOver && box.ownershipEpoch >= ownershipEpoch) return false
  // A box that cannot be fenced must be stopped all the same.
  if (box.managed) await placeSwitch(box.project, { commandId: holder, raisedAt: isoNow(clock) }).catch(() => undefined)
  await bringToRest({ engine }, box, box.managed ? ['synapse', 'minio', 'postgres'] : ['synapse', 'minio', 'postgres', 'edge'])
  const standing = await readFence(box.project).catch(() => undefined)
  const handedOver = box.handedOver ?? { at: isoNow(clock), holder: standing?.holder ?? holder }
  await boxes.put({ ...box, ownershipEpoch: Math.max(ownershipEpoch, box.ownershipEpoch), handedOver })
  return true
}

/** Whoever starts next must not go on with what the former owner had begun. */
async function endCommands(deps: DisownDeps, { slug, boxId, ownershipEpoch }: Disowned): Promise<void> {
  for (const { commandId, kind, payload } of await deps.journal.open()) {
    const { boxId: of, ownershipEpoch: under } = payload as { boxId?: unknown; ownershipEpoch?: number }
    if (of !== boxId || isNonBlocking(kind) || under === undefined || under >= ownershipEpoch) continue
    if (kind === 'tenant-box.take_over' && !(await deps.boxes.find(slug))) await clearHalfMade(deps, commandId, payload)
    await deps.journal.close(commandId, null)
  }
}

async function clearHalfMade(deps: DisownDeps, commandId: string, given: unknown): Promise<void> {
  const payload = boxCommands['tenant-box.take_over'].payload.parse(given)
  await clearAway({ deps, payload, box: boxToBe(deps, payload), folder: dumpFolderOf(deps.workFolder, commandId) })
}

/** A take-over that could not clear away after itself may have left a server running; without a record nobody else would ever stop it. */
async function clearRemains(deps: DisownDeps, { slug, boxId, ownershipEpoch }: Disowned): Promise<void> {
  const records = (await deps.journal.all()).filter((record) => record.slug === slug)
  if ((await deps.boxes.find(slug)) || records.some(({ closed }) => !closed)) return
  const left = records.findLast(({ kind, payload, closed }) => {
    const { boxId: of, ownershipEpoch: under } = payload as { boxId?: unknown; ownershipEpoch?: number }
    const older = of === boxId && under !== undefined && under < ownershipEpoch
    return older && kind === 'tenant-box.take_over' && (closed?.result as { outcome?: unknown } | null)?.outcome === 'restore_failed'
  })
  if (left) await clearHalfMade(deps, left.commandId, left.payload)
}
