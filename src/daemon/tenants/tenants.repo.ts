import { type Plan, tierOf } from '../../core/boxes/index.ts'
import type { BrandingChange, StoredBranding } from '../../core/branding/index.ts'
import type { TenantId } from '../../core/kit/index.ts'
import type { Standing, Tenant } from '../../core/tenants/index.ts'
import type { OwnWindow } from '../../core/windows/index.ts'
import { type DbOrTx, forNoKeyUpdate, type Tx } from '../db/index.ts'
import type { TenantRow } from './tenants.tables.ts'

/** A row of `tenants`. */
export type TenantRecord = Omit<Tenant, 'window' | 'homeserver' | 'branding'> & Readonly<{ id: TenantId; branding: StoredBranding }>

const toTenant = (row: TenantRow): TenantRecord => ({
  id: row.id as TenantId,
  slug: row.slug,
  name: row.name,
  chatDomain: row.chat_domain,
  plan: row.plan,
  tier: tierOf(row.plan),
  status: row.status,
  suspendedReason: row.suspended_reason,
  suspendedCause: row.suspended_cause,
  resumedUntil: row.resumed_until,
  schoolId: row.school_id ?? row.id,
  orgId: row.org_id ?? row.id,
  branding: {
    tenantName: row.branding === null ? row.name : JSON.parse(row.branding).tenantName,
    ...{ color: row.brand_color, logoId: row.logo_id },
  },
  featureFlags: JSON.parse(row.feature_flags),
  paymentCustomerId: row.payment_customer_id,
  billingEmail: row.billing_email,
  ...ownWindowOf(row),
  createdAt: row.created_at,
})

export async function tenantBySlug(db: DbOrTx, slug: string): Promise<TenantRecord | undefined> {
  const row = await db.selectFrom('tenants').selectAll().where('slug', '=', slug).executeTakeFirst()
  return row && toTenant(row)
}

export async function tenantById(db: DbOrTx, id: string): Promise<TenantRecord | undefined> {
  const row = await db.selectFrom('tenants').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toTenant(row)
}

/** Locks the tenant against changes and new boxes until the commit. */
export async function lockTenant(tx: Tx, slug: string): Promise<void> {
  await tx.selectFrom('tenants').select('id').where('slug', '=', slug).modifyEnd(forNoKeyUpdate(tx)).execute()
}

export async function tenantByChatDomain(db: DbOrTx, chatDomain: string): Promise<TenantRecord | undefined> {
  const row = await db.selectFrom('tenants').selectAll().where('chat_domain', '=', chatDomain).executeTakeFirst()
  return row && toTenant(row)
}

/** Finds a tenant by slug or chat domain, ignoring case. */
export async function tenantByName(db: DbOrTx, entered: string): Promise<TenantRecord | undefined> {
  const name = entered.trim().toLowerCase()
  return (await tenantBySlug(db, name)) ?? (await tenantByChatDomain(db, name))
}

type Page = Readonly<{ plan?: Plan | undefined; after?: string | undefined; limit: number }>

/** A page of tenants by slug. */
export async function tenantsAfter(db: DbOrTx, { plan, after, limit }: Page): Promise<TenantRecord[]> {
  let query = db.selectFrom('tenants').selectAll().orderBy('slug').limit(limit)
  if (plan) query = query.where('plan', '=', plan)
  if (after) query = query.where('slug', '>', after)
  return (await query.execute()).map(toTenant)
}

export async function insertTenant(tx: Tx, tenant: TenantRecord): Promise<void> {
  const { id, slug, name, plan, status, schoolId, orgId, chatDomain, createdAt, timeZone, maintenanceWindow } = tenant
  await tx
    .insertInto('tenants')
    .values({
      ...{ id, slug, name, plan, status, chat_domain: chatDomain, created_at: createdAt, updated_at: createdAt },
      ...{ school_id: schoolId, org_id: orgId, feature_flags: JSON.stringify(tenant.featureFlags) },
      ...windowColumns({ timeZone, maintenanceWindow }),
    })
    .execute()
}

type Details = Pick<TenantRecord, 'name' | 'plan' | 'schoolId' | 'orgId' | 'featureFlags' | 'paymentCustomerId' | 'billingEmail'> &
  Readonly<{ branding: StoredBrandingChange }>

/** Null removes the logo. */
export type StoredBrandingChange = BrandingChange & Readonly<{ logoId?: string | null | undefined }>

/** Changes the named details; the others are unchanged. */
export async function updateDetails(
  tx: Tx,
  id: TenantId,
  { updatedAt, details: known }: Readonly<{ updatedAt: string; details: { readonly [Key in keyof Details]?: Details[Key] | undefined } }>,
): Promise<void> {
  const { name, plan, schoolId, orgId, branding, featureFlags, paymentCustomerId, billingEmail } = known
  await tx
    .updateTable('tenants')
    .set({
      updated_at: updatedAt,
      ...(name === undefined ? {} : { name }),
      ...(plan === undefined ? {} : { plan }),
      ...(schoolId === undefined ? {} : { school_id: schoolId }),
      ...(orgId === undefined ? {} : { org_id: orgId }),
      ...(branding === undefined ? {} : brandingColumns(branding)),
      ...(featureFlags === undefined ? {} : { feature_flags: JSON.stringify(featureFlags) }),
      ...(paymentCustomerId === undefined ? {} : { payment_customer_id: paymentCustomerId }),
      ...(billingEmail === undefined ? {} : { billing_email: billingEmail }),
    })
    .where('id', '=', id)
    .execute()
}

const brandingColumns = ({ tenantName, color, logoId }: StoredBrandingChange) => ({
  ...(tenantName === undefined ? {} : { branding: JSON.stringify({ tenantName }) }),
  ...(color === undefined ? {} : { brand_color: color }),
  ...(logoId === undefined ? {} : { logo_id: logoId }),
})

export async function setStatus(tx: Tx, id: TenantId, { updatedAt, ...to }: Standing & Readonly<{ updatedAt: string }>): Promise<void> {
  const { status, suspendedReason: suspended_reason, suspendedCause: suspended_cause, resumedUntil: resumed_until } = to
  const state = { status, suspended_reason, suspended_cause, resumed_until, updated_at: updatedAt }
  await tx.updateTable('tenants').set(state).where('id', '=', id).execute()
}

/** The live box of each tenant, by tenant id. */
export async function liveBoxesOf(db: DbOrTx, ids: readonly string[]): Promise<ReadonlyMap<string, NonNullable<Tenant['homeserver']>>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('boxes')
    .select(['tenant_id', 'id', 'public_url', 'fenced'])
    .where('tenant_id', 'in', [...ids])
    .where('live', '=', 1)
    .execute()
  return new Map(rows.map((row) => [row.tenant_id, { boxId: row.id, publicUrl: row.public_url, fenced: row.fenced === 1 }]))
}

/** Sets the tenant's own maintenance window. */
export async function updateWindow(tx: Tx, id: TenantId, own: OwnWindow): Promise<void> {
  await tx.updateTable('tenants').set(windowColumns(own)).where('id', '=', id).execute()
}

const windowColumns = ({ timeZone, maintenanceWindow }: OwnWindow) => ({
  time_zone: timeZone,
  maintenance_window: maintenanceWindow && JSON.stringify(maintenanceWindow),
})

/** The tenant's own maintenance window. */
export const ownWindowOf = (row: Pick<TenantRow, 'time_zone' | 'maintenance_window'>): OwnWindow => ({
  timeZone: row.time_zone,
  maintenanceWindow: row.maintenance_window === null ? null : JSON.parse(row.maintenance_window),
})

/** Ids of all tenants, in order, behind one of them. */
export async function tenantIdsAfter(db: DbOrTx, { after, limit }: Readonly<{ after: string; limit: number }>): Promise<string[]> {
  const rows = await db.selectFrom('tenants').select('id').where('id', '>', after).orderBy('id').limit(limit).execute()
  return rows.map(({ id }) => id)
}
