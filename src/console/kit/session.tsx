import { useQuery } from '@tanstack/react-query'
import type { AdminRole } from '../../core/contract/index.ts'
import { type Api, api, maySee, roleFor } from './api.ts'

/** Whose session this is. */
export const whoAmIQuery = { queryKey: ['admin', 'whoami'], queryFn: () => api.admin.whoAmI(), staleTime: 60_000, retry: false } as const

export const useWhoAmI = () => useQuery(whoAmIQuery).data

export const useRole = (): AdminRole => useWhoAmI()?.account.role ?? 'viewer'

/** Whether this account may call an endpoint; otherwise the words for the disabled button. */
export function useMay<F extends keyof Api>(feature: F, name: keyof Api[F]): Readonly<{ allowed: boolean; why: string | undefined }> {
  const [role, lowest] = [useRole(), roleFor(feature, name)]
  const allowed = maySee(role, lowest)
  return { allowed, why: allowed ? undefined : `This requires the role ${lowest}; you are ${role}.` }
}
