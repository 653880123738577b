import type { BoxId } from '../../../core/boxes/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Command, FailureHandlers, ResultHandlers } from '../../hosts/index.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById } from '../boxes.repo.ts'
import { completed } from './complete-adoption.ts'
import type { StepDeps } from './deps.ts'
import { handedOver, moveOrderFailed, takenBack, takenOver } from './finish-move.ts'
import { erased, removalOrderFailed, runsAgain, stoppedForGood } from './finish-removal.ts'
import { maintained, maintenanceFailed } from './maintain-box.ts'
import { type Move, moveAwaiting } from './moves.repo.ts'
import { type Removal, removalAwaiting } from './removals.repo.ts'
import { stepMove } from './step-move.ts'

/** What goes on when an agent has done what life asked of it. An answer that nobody waits for any more changes nothing. */
export const lifeResultHandlers = (deps: StepDeps): ResultHandlers => ({
  'tenant-box.maintenance': (tx, command, result) => maintained(deps, tx, command, result),
  'tenant-box.complete': (tx, command, result) => completed(deps, tx, command, result),
  'tenant-box.hand_over': (tx, command, result) =>
    whoWaits(tx, command, {
      move: (box, move) => handedOver(deps, tx, box, move, result),
      removal: (box, removal) => stoppedForGood(deps, tx, box, removal, result),
    }),
  'tenant-box.take_over': (tx, command, result) => whoWaits(tx, command, { move: (box, move) => takenOver(deps, tx, box, move, result) }),
  'tenant-box.take_back': (tx, command, result) =>
    whoWaits(tx, command, {
      move: (box, move) => takenBack(deps, tx, box, move, result),
      removal: (box, removal) => runsAgain(deps, tx, box, removal, result),
    }),
  'tenant-box.remove': (tx, command) =>
    whoWaits(tx, command, {
      move: (box, move) => stepMove(deps, tx, box, move, { event: 'removed', change: { fromCopy: false, keepUntil: null } }),
      removal: (box, removal) => erased(deps, tx, box, removal),
    }),
})

export function lifeFailureHandlers(deps: StepDeps): FailureHandlers {
  const failed = (tx: Tx, command: Command, { told }: { told: boolean }) =>
    whoWaits(tx, command, {
      move: (box, move) => moveOrderFailed(deps, tx, box, move, command, told),
      removal: (box, removal) => removalOrderFailed(deps, tx, box, removal, command, told),
    })
  return {
    'tenant-box.maintenance': (tx, command, { told }) => maintenanceFailed(deps, tx, command, told),
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
