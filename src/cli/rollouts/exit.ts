import { isRollingBack, type Rollout } from '../../core/rollouts/index.ts'

/** Exit codes after waiting for a rollback: 1 when a box failed, 8 when it is stalled. */
export const exitOfRollback = ({ counts }: Pick<Rollout, 'counts'>): 0 | 1 | 8 =>
  isRollingBack(counts) ? 8 : (counts.rollback?.failed ?? 0) > 0 ? 1 : 0

/** Exit codes after waiting for a rollout: 7 aborted or rolled back, 8 paused, 9 done without some boxes, unless that is allowed. */
export function exitOfRollout(
  { status, counts }: Pick<Rollout, 'status' | 'counts'>,
  { allowSkipped }: Readonly<{ allowSkipped: boolean }> = { allowSkipped: false },
): 0 | 7 | 8 | 9 {
  if (status === 'failed' || status === 'rolled_back' || counts.rollback) return 7
  if (status === 'paused') return 8
  return status === 'done' && counts.leftOut > 0 && !allowSkipped ? 9 : 0
}
