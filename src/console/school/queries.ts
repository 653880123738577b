import { useQuery } from '@tanstack/react-query'
import type { SchoolSession } from '../../core/school/index.ts'
import { api, makeQueryClient, now } from '../kit/index.ts'

export const queryClient = makeQueryClient()

/** A call of a person prolongs the session, so it is made as long as somebody is at the page. */
const prolongMs = 4 * 60_000

/** Whose session this is, and what it may do. */
export const sessionQuery = {
  queryKey: ['session'],
  queryFn: () => api.school.showSchool(),
  ...{ staleTime: 60_000, refetchInterval: prolongMs, retry: false },
} as const

/** Ended maintenance is shown for so long. */
const shownMs = 3 * 86_400_000

/** Maintenance that is to come, and the last one while it is new. */
export const maintenanceQuery = {
  queryKey: ['maintenance'],
  queryFn: async () => {
    const { timeZone, maintenance } = await api.maintenance.listMaintenance()
    const [last] = maintenance.filter(({ endedAt }) => endedAt !== null && now().getTime() - Date.parse(endedAt) < shownMs)
    return { timeZone, maintenance: maintenance.filter((one) => one.status === 'planned' || one === last) }
  },
  ...{ staleTime: 60_000, refetchInterval: prolongMs },
} as const

/** The session of a page below the shell, which shows none without one. */
export function useSession(): SchoolSession {
  const { data } = useQuery(sessionQuery)
  if (!data) throw new Error('a page without a session')
  return data
}
