import { isoNow } from '../../core/kit/index.ts'
import { type LocalBoxes, placeSwitch, readFence } from '../boxes/index.ts'
import type { BoxLocks } from '../journal/index.ts'
import type { MoveNeeds } from './needs.ts'
import { bringToRest } from './rest.ts'

export type DisownNeeds = Pick<MoveNeeds, 'engine' | 'clock'> & Readonly<{ boxes: LocalBoxes; locks: BoxLocks }>

/** What the fence of a box says that was stopped because it has another owner. */
const holder = 'disowned'

/**
 * Stops a box that the daemon says is another host's: fenced, stopped, marked as handed over under the new epoch, never removed. Answers
 * whether this host had it. Throws BOX_HELD while a command works on it, BOX_UNHEALTHY when it does not stop.
 */
export async function disownBox(
  { engine, clock, boxes, locks }: DisownNeeds,
  { slug, boxId, ownershipEpoch }: Readonly<{ slug: string; boxId: string; ownershipEpoch: number }>,
): Promise<boolean> {
  const lock = await locks.acquire(slug)
  try {
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
  } finally {
    await lock.release()
  }
}
