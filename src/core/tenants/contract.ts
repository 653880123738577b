import { z } from 'zod'
import { Plan, Slug, Tier } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging, Timestamp } from '../contract/index.ts'

export const TenantStatus = z.enum(['active', 'suspended'])
export type TenantStatus = z.infer<typeof TenantStatus>

export const Tenant = z.object({
  id: z.string(),
  slug: z.string(),
  name: z.string(),
  chatDomain: z.string(),
  plan: Plan,
  tier: Tier,
  status: TenantStatus,
  createdAt: Timestamp,
})
export type Tenant = z.infer<typeof Tenant>

/** The organisations that the platform serves; a tenant comes into being with its box. */
export const tenantsContract = {
  listTenants: endpoint({
    method: 'GET',
    path: '/api/admin/v1/tenants',
    auth: admin('viewer'),
    query: Paging.extend({ plan: Plan.optional() }),
    returns: z.object({ tenants: z.array(Tenant), nextCursor: z.string().nullable() }),
    summary: 'Tenants by slug',
  }),
  showTenant: endpoint({
    method: 'GET',
    path: '/api/admin/v1/tenants/:slug',
    auth: admin('viewer'),
    params: z.object({ slug: Slug }),
    returns: Tenant,
    summary: 'One tenant',
  }),
} as const satisfies Contract
