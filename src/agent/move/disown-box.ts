import { boxCommands, isBeside } from '../../core/boxes/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { dumpFolderOf } from '../backup/index.ts'
import { placeSwitch, readFence } from '../boxes/index.ts'
import type { BoxLocks } from '../journal/index.ts'
import type { MoveNeeds } from './needs.ts'
import { bringToRest } from './rest.ts'
import { boxToBe } from './take-over.ts'
import { clearAway } from './take-over-steps.ts'

type DisownNeeds = Pick<MoveNeeds, 'engine' | 'clock' | 'boxes' | 'journal' | 'settings' | 'workFolder'> & Readonly<{ locks: BoxLocks }>
type Disowned = Readonly<{ slug: string; boxId: string; ownershipEpoch: number }>

/** What the fence of a box says that was stopped because it has another owner. */
const holder = 'disowned'

/**
 * Stops a box that the daemon says is another host's: fenced, stopped, marked as handed over under the new epoch, never removed. What was
 * begun on it under an older epoch is over, and a half-made copy of it goes. Answers whether this host had it. Throws BOX_HELD while a command
 * works on it, BOX_UNHEALTHY when it does not stop.
 */
export async function disownBox(needs: DisownNeeds, disowned: Disowned): Promise<boolean> {
  const lock = await needs.locks.acquire(disowned.slug)
  try {
    // First: an agent killed in between would go on with them, and open the box that it had just stopped.
    await endCommands(needs, disowned)
    const stopped = await stopBox(needs, disowned)
    await clearRemains(needs, disowned)
    return stopped
  } finally {
    await lock.release()
  }
}

async function stopBox({ engine, clock, boxes }: DisownNeeds, { slug, boxId, ownershipEpoch }: Disowned): Promise<boolean> {
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
async function endCommands(needs: DisownNeeds, { slug, boxId, ownershipEpoch }: Disowned): Promise<void> {
  for (const { commandId, kind, payload } of await needs.journal.open()) {
    const { boxId: of, ownershipEpoch: under } = payload as { boxId?: unknown; ownershipEpoch?: number }
    if (of !== boxId || isBeside(kind) || under === undefined || under >= ownershipEpoch) continue
    if (kind === 'tenant-box.take_over' && !(await needs.boxes.find(slug))) await clearHalfMade(needs, commandId, payload)
    await needs.journal.close(commandId, null)
  }
}

async function clearHalfMade(needs: DisownNeeds, commandId: string, given: unknown): Promise<void> {
  const payload = boxCommands['tenant-box.take_over'].payload.parse(given)
  await clearAway({ needs, payload, box: boxToBe(needs, payload), folder: dumpFolderOf(needs.workFolder, commandId) })
}

/** A take-over that could not clear away after itself may have left a server running; without a record nobody else would ever stop it. */
async function clearRemains(needs: DisownNeeds, { slug, boxId, ownershipEpoch }: Disowned): Promise<void> {
  const records = (await needs.journal.all()).filter((record) => record.slug === slug)
  if ((await needs.boxes.find(slug)) || records.some(({ closed }) => !closed)) return
  const left = records.findLast(({ kind, payload, closed }) => {
    const { boxId: of, ownershipEpoch: under } = payload as { boxId?: unknown; ownershipEpoch?: number }
    const older = of === boxId && under !== undefined && under < ownershipEpoch
    return older && kind === 'tenant-box.take_over' && (closed?.result as { outcome?: unknown } | null)?.outcome === 'restore_failed'
  })
  if (left) await clearHalfMade(needs, left.commandId, left.payload)
}
