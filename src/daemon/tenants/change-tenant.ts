import type { Plan } from '../../core/boxes/index.ts'
import { type Actor, type Clock, isoNow, type PlatformPrincipal, problem, type Random } from '../../core/kit/index.ts'
import { type FeatureFlags, isByPlanAlone, resumed, type Standing, suspendedBy, type Tenant } from '../../core/tenants/index.ts'
import type { OwnWindow, WindowRules } from '../../core/windows/index.ts'
import { closeAlerts } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { type Db, enqueueJob, isUniqueViolation, type Tx } from '../db/index.ts'
import { recordEvent, recordInternalEvent } from '../events/index.ts'
import { assertNotDeleting } from './delete-tenant.ts'
import { existingTenant, tenantView } from './show-tenants.ts'
import { lockTenant, type StoredBrandingChange, setStatus, type TenantRecord, updateDetails, updateWindow } from './tenants.repo.ts'

export type TenantsDeps = Readonly<{ db: Db; clock: Clock; random: Random; windows: WindowRules }>

type Details = Readonly<{
  name?: string | undefined
  plan?: Plan | undefined
  schoolId?: string | undefined
  orgId?: string | undefined
  branding?: StoredBrandingChange | undefined
  /** Null removes a flag. */
  featureFlags?: Readonly<Record<string, boolean | null>> | undefined
  paymentCustomerId?: string | null | undefined
  billingEmail?: string | null | undefined
}>
type Change = Readonly<{ slug: string }> & Details & { readonly [Key in keyof OwnWindow]?: OwnWindow[Key] | undefined }

/**
 * Changes details or maintenance window of a tenant. Rollouts use a new window from their next evaluation, users see other changes within a second.
 * Throws NOT_FOUND, ALREADY_EXISTS (payment customer of another tenant).
 */
export const changeTenant = async (
  deps: TenantsDeps,
  actor: Actor,
  { slug, timeZone, maintenanceWindow, ...known }: Change,
): Promise<Tenant> =>
  deps.db
    .transaction()
    .execute(async (tx) => {
      const tenant = await lockAndReadTenant(tx, slug)
      // Lock order: details lock event counters, which come before the heads of audit chains.
      if (Object.values(known).some((value) => value !== undefined)) await changeDetails(deps, tx, { actor, tenant, known })
      const window = timeZone !== undefined || maintenanceWindow !== undefined
      if (window) await changeWindow(deps, tx, { actor, tenant, change: { timeZone, maintenanceWindow } })
      return tenantView(deps, tx, await existingTenant(tx, slug))
    })
    .catch((error) => {
      throw isUniqueViolation(error)
        ? problem('ALREADY_EXISTS', `Payment customer ${known.paymentCustomerId} belongs to another tenant`)
        : error
    })

/** Locks and returns the tenant. Throws NOT_FOUND, CONFLICT while it is deleted. */
async function lockAndReadTenant(tx: Tx, slug: string): Promise<TenantRecord> {
  await lockTenant(tx, slug)
  const tenant = await existingTenant(tx, slug)
  assertNotDeleting(tenant)
  return tenant
}

type WindowChange = { readonly [Key in keyof OwnWindow]: OwnWindow[Key] | undefined }

type Changing<What> = Readonly<{ actor: Actor; tenant: TenantRecord }> & What

async function changeWindow({ clock }: TenantsDeps, tx: Tx, { actor, tenant, change }: Changing<{ change: WindowChange }>): Promise<void> {
  const { timeZone = tenant.timeZone, maintenanceWindow = tenant.maintenanceWindow } = change
  await updateWindow(tx, tenant.id, { timeZone, maintenanceWindow })
  await recordAudit(tx, clock, { actor, action: 'tenant.window', subject: tenant.slug, data: { timeZone, maintenanceWindow } })
}

/** Sends the billing address of a tenant to the payment provider; billing runs it. */
export const billingAddressTopic = 'tenants.billing-address'

/** Fields that users see, besides flags. */
const visibleFields = ['name', 'branding', 'schoolId', 'orgId'] as const

async function changeDetails(
  { clock }: Pick<TenantsDeps, 'clock'>,
  tx: Tx,
  { actor, tenant: { id, slug, featureFlags }, known }: Changing<{ known: Details }>,
): Promise<void> {
  const flags = known.featureFlags && mergedFlags(featureFlags, known.featureFlags)
  await updateDetails(tx, id, { updatedAt: isoNow(clock), details: { ...known, featureFlags: flags } })
  if (flags) await recordEvent(tx, clock, { tenantId: id, type: 'tenant.flags_changed', payload: {}, audience: 'tenant' })
  if (visibleFields.some((field) => known[field] !== undefined))
    await recordInternalEvent(tx, clock, { tenantId: id, type: 'tenant.changed' })
  if (known.billingEmail !== undefined)
    await enqueueJob(tx, clock, { topic: billingAddressTopic, payload: { tenantId: id }, key: id, pool: 'payments' })
  await publishRevocation(tx, clock, { kind: 'tenant', subject: id })
  await recordAudit(tx, clock, { actor, action: 'tenant.changed', subject: slug, data: withoutAddress(known) })
}

/** The audit log is never deleted, so it names no address. */
const withoutAddress = ({ billingEmail, ...known }: Details) => (billingEmail === undefined ? known : { ...known, billingEmail: 'changed' })

const mergedFlags = (before: FeatureFlags, change: Readonly<Record<string, boolean | null>>): FeatureFlags =>
  Object.fromEntries(Object.entries({ ...before, ...change }).filter((flag): flag is [string, boolean] => flag[1] !== null))

type Suspension = Readonly<{ slug: string; reason: string }>

/** Refuses logins and tokens of its users within a second; their sessions are kept. Box and chat keep running. Throws NOT_FOUND. */
export const suspendTenant = (deps: TenantsDeps, actor: Actor, { slug, reason }: Suspension): Promise<Tenant> =>
  changeStanding(deps, actor, {
    slug,
    next: (tenant) => (tenant.status === 'active' || isByPlanAlone(tenant) ? suspendedBy(tenant, reason) : tenant),
  })

type Resumption = Readonly<{ slug: string; until?: string | undefined }>

/**
 * Accepts its users and their sessions again, for good or until a time. Throws NOT_FOUND, VALIDATION, CONFLICT: a Light tenant whose plan ended is
 * resumed for a time only; for tenants of other plans an operator decides.
 */
export const resumeTenant = (deps: TenantsDeps, actor: Actor, { slug, until }: Resumption): Promise<Tenant> =>
  changeStanding(deps, actor, {
    slug,
    next: (tenant) => resumed(tenant, { until, isPaid: tenant.plan !== 'light', now: isoNow(deps.clock) }),
  })

/** Suspends or resumes a locked tenant in the transaction of the cause. */
export async function setTenantStatusIn(
  { tx, clock }: Readonly<{ tx: Tx; clock: Clock }>,
  actor: Actor,
  { tenant, to }: StatusChange,
): Promise<void> {
  await setStatus(tx, tenant.id, { ...to, updatedAt: isoNow(clock) })
  await publishRevocation(tx, clock, { kind: 'tenant', subject: tenant.id })
  const { resumedUntil: until, suspendedReason: reason, suspendedCause: cause } = to
  if (until !== null) await enqueueJob(tx, clock, { topic: resumedTimeTopic, payload: { tenantId: tenant.id }, runAt: until })
  if (to.status === 'active')
    await closeAlerts(tx, clock, { subject: tenant.slug, kinds: ['suspended_again'], because: 'the tenant was resumed' })
  const action = to.status === 'suspended' ? 'tenant.suspended' : 'tenant.resumed'
  const data = { ...(reason === null ? {} : { reason, cause }), ...(until === null ? {} : { until }) }
  await recordAudit(tx, clock, { actor, action, subject: tenant.slug, data })
}

type StatusChange = Readonly<{ tenant: TenantRecord; to: Standing }>

/** Suspends a tenant again when the time that an operator granted has ended. */
export const resumedTimeTopic = 'tenants.resumed-time'

/** Sets the plan of a locked tenant in the transaction of the cause. */
export const setPlanIn = (
  { tx, clock }: Readonly<{ tx: Tx; clock: Clock }>,
  actor: Actor,
  { tenant, plan }: Readonly<{ tenant: TenantRecord; plan: Plan }>,
): Promise<void> => changeDetails({ clock }, tx, { actor, tenant, known: { plan } })

/** Changes name, colour or logo of the caller's tenant in the transaction of the cause. Throws CONFLICT while it is deleted. */
export async function setBrandingIn(
  { tx, clock }: Readonly<{ tx: Tx; clock: Clock }>,
  actor: PlatformPrincipal,
  branding: StoredBrandingChange,
): Promise<void> {
  const tenant = await lockAndReadTenant(tx, actor.tenantSlug)
  await changeDetails({ clock }, tx, { actor, tenant, known: { branding } })
}

const standingOf = ({ status, suspendedReason, suspendedCause, resumedUntil }: Standing): string =>
  JSON.stringify([status, suspendedReason, suspendedCause, resumedUntil])

type StandingChange = Readonly<{ slug: string; next: (tenant: TenantRecord) => Standing }>

const changeStanding = (deps: TenantsDeps, actor: Actor, { slug, next }: StandingChange): Promise<Tenant> =>
  deps.db.transaction().execute(async (tx) => {
    const tenant = await lockAndReadTenant(tx, slug)
    const to = next(tenant)
    if (standingOf(to) !== standingOf(tenant)) await setTenantStatusIn({ tx, clock: deps.clock }, actor, { tenant, to })
    return tenantView(deps, tx, await existingTenant(tx, slug))
  })
