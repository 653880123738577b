import type { RequestedFence, RequestedSnapshot, RollbackMode, RolloutKind, RolloutStatus } from '../../core/rollouts/index.ts'
import { api } from '../kit/index.ts'

const pageLimit = 100

export const listQuery = (filter: Readonly<{ status?: RolloutStatus; kind?: RolloutKind; cursor?: string }>) => ({
  queryKey: ['rollouts', 'list', filter],
  queryFn: () => api.rollouts.listRollouts({ query: { ...filter, limit: pageLimit } }),
})

/** Not refreshed by every event: a rollout of a thousand boxes sends many. */
export const reportQuery = (id: string) => ({
  queryKey: ['rollout-report', id],
  queryFn: () => api.rollouts.reportRollout({ params: { id } }),
})

export const actionQuery = (id: string, slug: string) => ({
  queryKey: ['rollouts', 'action', id, slug],
  queryFn: () => api.rollouts.getRolloutAction({ params: { id, slug } }),
})

export const rollbackPlanQuery = (id: string, boxes: RollbackMode) => ({
  queryKey: ['rollout-rollback-plan', id, boxes],
  queryFn: () => api.rollouts.planRollback({ params: { id }, body: { boxes } }),
  refetchInterval: false as const,
})

export type PlanInput = Readonly<{
  targetSlugs?: string[]
  allowLongFence: boolean
  ignoreWindows: boolean
  parallel?: number
  bakeMs?: number
  /** `auto` is the default. */
  fenceMode?: RequestedFence
  snapshotMode?: RequestedSnapshot
}>

/** A plan asks registries, so it is made again only on request. */
export const planQuery = (body: PlanInput) => ({
  queryKey: ['rollout-plan', body],
  queryFn: () => api.rollouts.planRollout({ body }),
  staleTime: 60_000,
  refetchInterval: false as const,
  refetchOnWindowFocus: false,
})
