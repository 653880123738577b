import { z } from 'zod'
import { ChatDomain, Plan, Slug, Tier } from '../boxes/index.ts'
import { Branding, BrandingChange } from '../branding/index.ts'
import { admin, type Contract, Email, endpoint, pagingBy, TimeInput, Timestamp } from '../contract/index.ts'
import { FileUsage } from '../files/index.ts'
import { BoxWindow, TenantWindow, TimeZone } from '../windows/index.ts'

/** `deleting`: a job deletes everything it has; it can neither be changed nor resumed. */
export const TenantStatus = z.enum(['active', 'suspended', 'deleting'])
export type TenantStatus = z.infer<typeof TenantStatus>

/** Why a tenant is suspended: an operator did it, or the subscription of its plan ended at the payment provider. */
export const SuspensionCause = z.enum(['operator', 'plan_ended'])
export type SuspensionCause = z.infer<typeof SuspensionCause>

const FlagName = z.string().regex(/^[a-z][A-Za-z0-9._-]{0,79}$/, 'must be a name such as newChat, starting with a lower-case letter')
/** Flags by name; a missing flag is off. */
export const FeatureFlags = z.record(FlagName, z.boolean())
export type FeatureFlags = z.infer<typeof FeatureFlags>

const Name = z.string().trim().min(1, 'must not be empty').max(100)
/** The id in an external system. */
const OuterId = z.string().trim().min(1).max(100)

export const Tenant = z.object({
  id: z.string(),
  slug: z.string(),
  name: z.string(),
  chatDomain: z.string(),
  plan: Plan,
  tier: Tier,
  status: TenantStatus,
  /** Why it is suspended or deleted. */
  suspendedReason: z.string().nullable(),
  suspendedCause: SuspensionCause.nullable().meta({ description: '`operator`, or `plan_ended`: the subscription of its plan ended' }),
  resumedUntil: Timestamp.nullable().meta({ description: 'Active until then although its cause is left; then suspended again' }),
  schoolId: z.string(),
  orgId: z.string(),
  branding: Branding,
  featureFlags: FeatureFlags,
  paymentCustomerId: z.string().nullable(),
  /** Receives what will be charged, and failed payments. */
  billingEmail: z.string().nullable(),
  /** Its live box; null while it has none. */
  homeserver: z.object({ boxId: z.string(), publicUrl: z.string(), fenced: z.boolean() }).nullable(),
  /** Null: the platform's time zone. */
  timeZone: TimeZone.nullable(),
  /** Null: the window of its tier. */
  maintenanceWindow: TenantWindow.nullable(),
  /** The effective window with its current or next opening; null: no window, any time is allowed. */
  window: BoxWindow.nullable(),
  createdAt: Timestamp,
})
export type Tenant = z.infer<typeof Tenant>

/** Adds the fields that are read for one tenant only. */
const TenantInFull = Tenant.extend({ files: FileUsage })
export type TenantInFull = z.infer<typeof TenantInFull>

const CreateTenantBody = z.strictObject({
  slug: Slug,
  name: Name,
  plan: Plan,
  chatDomain: ChatDomain,
  schoolId: OuterId.optional(),
  orgId: OuterId.optional(),
})

const flags = 'null removes a flag; missing flags are unchanged'

const ChangeTenantBody = z
  .strictObject({
    name: Name.optional(),
    plan: Plan.optional(),
    schoolId: OuterId.optional(),
    orgId: OuterId.optional(),
    branding: BrandingChange.optional(),
    featureFlags: z.record(FlagName, z.boolean().nullable()).optional().meta({ description: flags }),
    paymentCustomerId: OuterId.nullable().optional(),
    billingEmail: Email.nullable().optional(),
    timeZone: TimeZone.nullable().optional(),
    maintenanceWindow: TenantWindow.nullable().optional(),
  })
  .refine(
    (body) => Object.keys(body).length > 0,
    'must change something: name, plan, schoolId, orgId, branding, featureFlags, paymentCustomerId, billingEmail, timeZone or maintenanceWindow',
  )
  .meta({ minProperties: 1 })

/** The organisations that the platform serves. */
export const tenantsContract = {
  listTenants: endpoint({
    method: 'GET',
    path: '/api/admin/v1/tenants',
    auth: admin('viewer'),
    query: pagingBy(Slug).extend({ plan: Plan.optional() }),
    returns: z.object({ tenants: z.array(Tenant), nextCursor: z.string().nullable() }),
    summary: 'List tenants by slug',
  }),
  createTenant: endpoint({
    method: 'POST',
    audit: 'tenant.created',
    path: '/api/admin/v1/tenants',
    auth: admin('operator'),
    body: CreateTenantBody,
    returns: Tenant,
    status: 201,
    problems: ['ALREADY_EXISTS'],
    summary: 'Register a tenant without a box; provision its box with the same slug, name, plan and domain',
  }),
  showTenant: endpoint({
    method: 'GET',
    path: '/api/admin/v1/tenants/:slug',
    auth: admin('viewer'),
    params: z.object({ slug: Slug }),
    returns: TenantInFull,
    summary: 'Show a tenant and its storage usage',
  }),
  changeTenant: endpoint({
    method: 'PATCH',
    audit: 'tenant.changed',
    path: '/api/admin/v1/tenants/:slug',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    body: ChangeTenantBody,
    returns: Tenant,
    problems: ['ALREADY_EXISTS'],
    summary: 'Change a tenant or its maintenance window. The plan also sets the tier of its box',
  }),
  suspendTenant: endpoint({
    method: 'POST',
    audit: 'tenant.suspended',
    path: '/api/admin/v1/tenants/:slug/suspend',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    body: z.strictObject({ reason: z.string().trim().min(1).max(500) }),
    returns: Tenant,
    summary: 'Refuse logins and tokens of its users within a second; box and chat keep running',
  }),
  resumeTenant: endpoint({
    method: 'POST',
    audit: 'tenant.resumed',
    path: '/api/admin/v1/tenants/:slug/resume',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    body: z
      .strictObject({
        until: TimeInput.optional().meta({ description: 'Suspended again at this time, at most 90 days ahead, if the cause is left' }),
      })
      .prefault({}),
    returns: Tenant,
    problems: ['CONFLICT'],
    summary: 'Accept its users again, for good or for a time; sessions that have not expired continue',
  }),
} as const satisfies Contract
