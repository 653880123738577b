import type { BoxId } from '../../../core/boxes/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Command, FailureHandlers, ResultHandlers } from '../../hosts/index.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById } from '../boxes.repo.ts'
import { completed } from './complete-adoption.ts'
import { handedOver, moveOrderFailed, takenBack, takenOver } from './finish-move.ts'
import { erased, removalOrderFailed, runsAgain, stoppedForGood } from './finish-removal.ts'
import { maintained, maintenanceFailed } from './maintain-box.ts'
import { type Move, moveAwaiting } from './moves.repo.ts'
import type { StepNeeds } from './needs.ts'
import { type Removal, removalAwaiting } from './removals.repo.ts'
import { stepMove } from './step-move.ts'

/** What goes on when an agent has done what life asked of it. An answer that nobody waits for any more changes nothing. */
export const lifeResultHandlers = (needs: StepNeeds): ResultHandlers => ({
  'tenant-box.maintenance': (tx, command, result) => maintained(needs, tx, command, result),
  'tenant-box.complete': (tx, command, result) => completed(needs, tx, command, result),
  'tenant-box.hand_over': (tx, command, result) =>
    whoWaits(tx, command, {
      move: (box, move) => handedOver(needs, tx, box, move, result),
      removal: (box, removal) => stoppedForGood(needs, tx, box, removal, result),
    }),
  'tenant-box.take_over': (tx, command, result) => whoWaits(tx, command, { move: (box, move) => takenOver(needs, tx, box, move, result) }),
  'tenant-box.take_back': (tx, command, result) =>
    whoWaits(tx, command, {
      move: (box, move) => takenBack(needs, tx, box, move, result),
      removal: (box, removal) => runsAgain(needs, tx, box, removal, result),
    }),
  'tenant-box.remove': (tx, command) =>
    whoWaits(tx, command, {
      move: (box, move) => stepMove(needs, tx, box, move, { event: 'removed', change: { fromCopy: false, keepUntil: null } }),
      removal: (box, removal) => erased(needs, tx, box, removal),
    }),
})

export function lifeFailureHandlers(needs: StepNeeds): FailureHandlers {
  const failed = (tx: Tx, command: Command, { told }: { told: boolean }) =>
    whoWaits(tx, command, {
      move: (box, move) => moveOrderFailed(needs, tx, box, move, command, told),
      removal: (box, removal) => removalOrderFailed(needs, tx, box, removal, command, told),
    })
  return {
    'tenant-box.maintenance': (tx, command, { told }) => maintenanceFailed(needs, tx, command, told),
    'tenant-box.hand_over': failed,
    'tenant-box.take_over': failed,
    'tenant-box.take_back': failed,
    'tenant-box.remove': failed,
  }
}

type Ways = Readonly<{
  move: (box: BoxRecord, move: Move) => Promise<unknown>
  removal?: (box: BoxRecord, removal: Removal) => Promise<unknown>
}>

async function whoWaits(tx: Tx, { id, boxId }: Command, ways: Ways): Promise<void> {
  const box = await boxById(tx, boxId as BoxId)
  if (!box) return
  const move = await moveAwaiting(tx, id)
  if (move) await ways.move(box, move)
  const removal = await removalAwaiting(tx, id)
  if (removal) await ways.removal?.(box, removal)
}
