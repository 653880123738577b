import { useQuery } from '@tanstack/react-query'
import { api } from '../kit/index.ts'
import type { Order } from './emergency-order.ts'
import { planQuery } from './queries.ts'

/** The versions that the fleet runs now; undefined until they are known. */
export const useFleetPlan = () => useQuery(planQuery({ allowLongFence: false, ignoreWindows: false })).data

/** The plan of an emergency; it sends nothing that is stored. */
export const useFleetPlanOf = ({ targets }: Order) =>
  useQuery({
    queryKey: ['rollout-plan', 'emergency', targets],
    queryFn: () => api.rollouts.planRollout({ body: { kind: 'emergency_cve', ...targets } }),
    refetchInterval: false as const,
    refetchOnWindowFocus: false,
  })
