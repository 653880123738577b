import type { Plan } from '../../core/boxes/index.ts'
import { type Actor, type Clock, isoNow, problem, type Random } from '../../core/kit/index.ts'
import type { Branding, FeatureFlags, Tenant } from '../../core/tenants/index.ts'
import type { OwnWindow, WindowRules } from '../../core/windows/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { type Db, isUniqueViolation, type Tx } from '../db/index.ts'
import { recordEvent, recordInternalEvent } from '../events/index.ts'
import { existingTenant, tenantView } from './show-tenants.ts'
import { lockTenant, setKnown, setWindow, type TenantRecord } from './tenants.repo.ts'

export type TenantsDeps = Readonly<{ db: Db; clock: Clock; random: Random; windows: WindowRules }>

type Known = Readonly<{
  name?: string | undefined
  plan?: Plan | undefined
  schoolId?: string | undefined
  orgId?: string | undefined
  branding?: Branding | undefined
  /** Null takes a flag out. */
  featureFlags?: Readonly<Record<string, boolean | null>> | undefined
  paymentCustomerId?: string | null | undefined
}>
type Change = Readonly<{ slug: string }> & Known & { readonly [Key in keyof OwnWindow]?: OwnWindow[Key] | undefined }

/**
 * Changes what is known of a tenant and when it may be disturbed; what is not named stays. Rollouts keep to a window from their next look, users
 * see the rest within a second. Throws NOT_FOUND, ALREADY_EXISTS (another tenant pays as that customer).
 */
export const changeTenant = async (
  deps: TenantsDeps,
  actor: Actor,
  { slug, timeZone, maintenanceWindow, ...known }: Change,
): Promise<Tenant> =>
  deps.db
    .transaction()
    .execute(async (tx) => {
      const tenant = await lockedTenant(tx, slug)
      // What is known first: that locks counters of streams, which come before the heads of audit chains.
      if (Object.values(known).some((value) => value !== undefined)) await changeKnown(deps, tx, actor, tenant, known)
      const window = timeZone !== undefined || maintenanceWindow !== undefined
      if (window) await changeWindow(deps, tx, actor, tenant, { timeZone, maintenanceWindow })
      return tenantView(deps, tx, await existingTenant(tx, slug))
    })
    .catch((error) => {
      throw isUniqueViolation(error)
        ? problem('ALREADY_EXISTS', `another tenant has the payment customer ${known.paymentCustomerId}: two cannot pay as one`)
        : error
    })

/** The tenant, until the transaction ends for its holder alone. Throws NOT_FOUND. */
export async function lockedTenant(tx: Tx, slug: string): Promise<TenantRecord> {
  await lockTenant(tx, slug)
  return existingTenant(tx, slug)
}

type WindowChange = { readonly [Key in keyof OwnWindow]: OwnWindow[Key] | undefined }

async function changeWindow({ clock }: TenantsDeps, tx: Tx, actor: Actor, tenant: TenantRecord, change: WindowChange): Promise<void> {
  const { timeZone = tenant.timeZone, maintenanceWindow = tenant.maintenanceWindow } = change
  await setWindow(tx, tenant.id, { timeZone, maintenanceWindow })
  await recordAudit(tx, clock, { actor, action: 'tenant.window', subject: tenant.slug, data: { timeZone, maintenanceWindow } })
}

/** What users see of their tenant, beside its flags. */
const shown = ['name', 'branding', 'schoolId', 'orgId'] as const

async function changeKnown(
  { clock }: TenantsDeps,
  tx: Tx,
  actor: Actor,
  { id, slug, featureFlags }: TenantRecord,
  known: Known,
): Promise<void> {
  const flags = known.featureFlags && mergedFlags(featureFlags, known.featureFlags)
  await setKnown(tx, id, isoNow(clock), { ...known, featureFlags: flags })
  if (flags) await recordEvent(tx, clock, { tenantId: id, type: 'tenant.flags_changed', payload: {}, audience: 'tenant' })
  if (shown.some((field) => known[field] !== undefined)) await recordInternalEvent(tx, clock, { tenantId: id, type: 'tenant.changed' })
  await publishRevocation(tx, clock, { kind: 'tenant', subject: id })
  await recordAudit(tx, clock, { actor, action: 'tenant.changed', subject: slug, data: known })
}

const mergedFlags = (before: FeatureFlags, change: Readonly<Record<string, boolean | null>>): FeatureFlags =>
  Object.fromEntries(Object.entries({ ...before, ...change }).filter((flag): flag is [string, boolean] => flag[1] !== null))
