import { type BoardModel, type BoardState, boardModel } from '../../../core/rollouts/index.ts'
import { withAddress } from '../../kit/index.ts'

/** The board with commands that repeat the address of the daemon, where `url` is given. */
export function addressedBoard(state: BoardState, nowMs: number, url: string | undefined): BoardModel {
  const { failures, next, ...board } = boardModel(state, nowMs)
  return {
    ...board,
    failures: failures.map((failure) => ({ ...failure, reason: withAddress(failure.reason, url) })),
    next: next.map((step) => ({ ...step, command: withAddress(step.command, url) })),
  }
}
