import type { Tenant, TenantStatus } from '../../core/tenants/index.ts'
import { allPages, api, type Tone } from '../kit/index.ts'

const pageLimit = 200

const allTenants = async (): Promise<readonly Tenant[]> =>
  (await allPages((at) => api.tenants.listTenants({ query: { limit: pageLimit, ...at } }))).flatMap(({ tenants }) => tenants)

export const tenantsQuery = { queryKey: ['tenants', 'all'], queryFn: allTenants, staleTime: 10_000 } as const

export const tenantQuery = (slug: string) =>
  ({ queryKey: ['tenants', slug], queryFn: () => api.tenants.showTenant({ params: { slug } }) }) as const

export const tenantTones = { active: 'ok', suspended: 'failed', deleting: 'working' } as const satisfies Record<TenantStatus, Tone>
