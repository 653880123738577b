import { type ActionRollback, ActionStatus, isInFlight, isOver, RolloutStatus } from '../../core/rollouts/index.ts'

export const openRollouts = RolloutStatus.options.filter((status) => !isOver(status))
/** Also of a rollout that is over: the box is on its way back, or rests fenced until a person decides. */
export const openActions = ActionStatus.options.filter(
  (status) => isInFlight(status) || status === 'rolling_back' || status === 'rollback_failed',
)

/** Boxes that are to be brought back, and those on their way. */
export const openUndos: readonly ActionRollback['status'][] = ['pending', 'running']
