import { z } from 'zod'
import { ChatDomain, Plan, Slug, Tier } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging, Timestamp } from '../contract/index.ts'
import { FileUse } from '../files/index.ts'
import { BoxWindow, TenantWindow, TimeZone } from '../windows/index.ts'

export const TenantStatus = z.enum(['active', 'suspended'])
export type TenantStatus = z.infer<typeof TenantStatus>

/** What clients show of a tenant (spec 2.6). */
export const Branding = z.strictObject({ tenantName: z.string().trim().min(1).max(100) })
export type Branding = z.infer<typeof Branding>

const FlagName = z.string().regex(/^[a-z][A-Za-z0-9._-]{0,79}$/, 'must be a name such as newChat, starting with a lower-case letter')
/** By name; what is not named is off. */
export const FeatureFlags = z.record(FlagName, z.boolean())
export type FeatureFlags = z.infer<typeof FeatureFlags>

const Name = z.string().trim().min(1, 'must not be empty').max(100)
/** An id that other systems know it by. */
const OuterId = z.string().trim().min(1).max(100)

export const Tenant = z.object({
  id: z.string(),
  slug: z.string(),
  name: z.string(),
  chatDomain: z.string(),
  plan: Plan,
  tier: Tier,
  status: TenantStatus,
  /** Why it is suspended. */
  suspendedReason: z.string().nullable(),
  schoolId: z.string(),
  orgId: z.string(),
  branding: Branding,
  featureFlags: FeatureFlags,
  paymentCustomerId: z.string().nullable(),
  /** Its live box; null while it has none. */
  homeserver: z.object({ boxId: z.string(), publicUrl: z.string(), fenced: z.boolean() }).nullable(),
  /** Its own; null: the platform's. */
  timeZone: TimeZone.nullable(),
  /** Its own; null: that of its tier. */
  maintenanceWindow: TenantWindow.nullable(),
  /** What holds of the two, with its opening now or next; null where any time is right. */
  window: BoxWindow.nullable(),
  createdAt: Timestamp,
})
export type Tenant = z.infer<typeof Tenant>

/** With what is read for one tenant alone. */
const TenantInFull = Tenant.extend({ files: FileUse })
export type TenantInFull = z.infer<typeof TenantInFull>

const CreateTenantBody = z.strictObject({
  slug: Slug,
  name: Name,
  plan: Plan,
  chatDomain: ChatDomain,
  schoolId: OuterId.optional(),
  orgId: OuterId.optional(),
})

const flags = 'A flag with null is taken out; what is not named stays'

const ChangeTenantBody = z
  .strictObject({
    name: Name.optional(),
    plan: Plan.optional(),
    schoolId: OuterId.optional(),
    orgId: OuterId.optional(),
    branding: Branding.optional(),
    featureFlags: z.record(FlagName, z.boolean().nullable()).optional().meta({ description: flags }),
    paymentCustomerId: OuterId.nullable().optional(),
    timeZone: TimeZone.nullable().optional(),
    maintenanceWindow: TenantWindow.nullable().optional(),
  })
  .refine(
    (body) => Object.keys(body).length > 0,
    'must change something: name, plan, schoolId, orgId, branding, featureFlags, paymentCustomerId, timeZone or maintenanceWindow',
  )
  .meta({ minProperties: 1 })

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
  createTenant: endpoint({
    method: 'POST',
    path: '/api/admin/v1/tenants',
    auth: admin('operator'),
    body: CreateTenantBody,
    returns: Tenant,
    status: 201,
    problems: ['ALREADY_EXISTS'],
    summary: 'Register a tenant; its box is provisioned under the same slug, name, plan and domain',
  }),
  showTenant: endpoint({
    method: 'GET',
    path: '/api/admin/v1/tenants/:slug',
    auth: admin('viewer'),
    params: z.object({ slug: Slug }),
    returns: TenantInFull,
    summary: 'One tenant, with what its files take of their quota',
  }),
  changeTenant: endpoint({
    method: 'PATCH',
    path: '/api/admin/v1/tenants/:slug',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    body: ChangeTenantBody,
    returns: Tenant,
    problems: ['ALREADY_EXISTS'],
    summary: 'Change what is known of it, and when it may be disturbed: what is not named stays. Another plan is another tier of its box',
  }),
  suspendTenant: endpoint({
    method: 'POST',
    path: '/api/admin/v1/tenants/:slug/suspend',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    body: z.strictObject({ reason: z.string().trim().min(1).max(500) }),
    returns: Tenant,
    summary: 'Refuse the logins and the tokens of its users within a second; its box and its chat run on',
  }),
  resumeTenant: endpoint({
    method: 'POST',
    path: '/api/admin/v1/tenants/:slug/resume',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    returns: Tenant,
    summary: 'Let its users in again; sessions that had not run out go on',
  }),
} as const satisfies Contract
