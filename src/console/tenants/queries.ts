import type { Tenant, TenantStatus } from '../../core/tenants/index.ts'
import { api, type Tone } from '../kit/index.ts'

const pageLimit = 200

async function allTenants(): Promise<readonly Tenant[]> {
  const tenants: Tenant[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof api.tenants.listTenants>> = await api.tenants.listTenants({
      query: { limit: pageLimit, ...(cursor ? { cursor } : {}) },
    })
    tenants.push(...page.tenants)
    cursor = page.nextCursor
  } while (cursor)
  return tenants
}

export const tenantsQuery = { queryKey: ['tenants', 'all'], queryFn: allTenants, staleTime: 10_000 } as const

export const tenantQuery = (slug: string) =>
  ({ queryKey: ['tenants', slug], queryFn: () => api.tenants.showTenant({ params: { slug } }) }) as const

export const tenantTones = { active: 'ok', suspended: 'failed', deleting: 'working' } as const satisfies Record<TenantStatus, Tone>
