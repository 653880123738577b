import { useQuery } from '@tanstack/react-query'
import { plural } from '../../core/kit/index.ts'
import type { RolloutSummary } from '../../core/rollouts/index.ts'
import { api, type Badge } from '../kit/index.ts'

export const recentRolloutsQuery = {
  queryKey: ['rollouts', 'recent'],
  queryFn: () => api.rollouts.listRollouts({ query: { limit: 50 } }),
} as const

/** Also a finished rollout whose boxes are still being rolled back. */
export const isOpen = ({ finishedAt, counts: { rollback } }: RolloutSummary): boolean =>
  finishedAt === null || (rollback !== null && rollback.pending + rollback.running > 0)

/** Paused rollouts, which wait for a decision; without any the active ones. */
export function useRolloutBadge(): Badge | undefined {
  const rollouts = useQuery(recentRolloutsQuery).data?.rollouts
  if (!rollouts) return undefined
  const paused = rollouts.filter(({ status }) => status === 'paused').length
  const open = rollouts.filter(isOpen).length
  return paused > 0
    ? { count: paused, label: plural(paused, 'paused rollout'), tone: 'failed' }
    : { count: open, label: plural(open, 'active rollout'), tone: 'working' }
}
