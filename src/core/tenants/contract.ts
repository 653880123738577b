import { z } from 'zod'
import { Plan, Slug, Tier } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging, Timestamp } from '../contract/index.ts'
import { BoxWindow, TenantWindow, TimeZone } from '../windows/index.ts'

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
  /** Its own; null: the platform's. */
  timeZone: TimeZone.nullable(),
  /** Its own; null: that of its tier. */
  maintenanceWindow: TenantWindow.nullable(),
  /** What holds of the two, with its opening now or next; null where any time is right. */
  window: BoxWindow.nullable(),
  createdAt: Timestamp,
})
export type Tenant = z.infer<typeof Tenant>

const ChangeTenantBody = z
  .strictObject({
    timeZone: TimeZone.nullable().optional(),
    maintenanceWindow: TenantWindow.nullable().optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must change something: timeZone or maintenanceWindow')

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
  changeTenant: endpoint({
    method: 'PATCH',
    path: '/api/admin/v1/tenants/:slug',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    body: ChangeTenantBody,
    returns: Tenant,
    summary: 'Say when it may be disturbed; boxes whose update has not begun keep to it at once. Null: what its tier says',
  }),
} as const satisfies Contract
