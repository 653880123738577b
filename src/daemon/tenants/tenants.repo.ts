import { type Plan, type TenantId, tierOf } from '../../core/boxes/index.ts'
import type { Tenant } from '../../core/tenants/index.ts'
import type { OwnWindow } from '../../core/windows/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { ownWindowOf } from './own-window.ts'
import type { TenantTable } from './tenants.tables.ts'

/** A tenant as the daemon's rooms know it. */
export type TenantRecord = Omit<Tenant, 'window'> & Readonly<{ id: TenantId }>

const toTenant = (row: TenantTable): TenantRecord => ({
  id: row.id as TenantId,
  slug: row.slug,
  name: row.name,
  chatDomain: row.chat_domain,
  plan: row.plan,
  tier: tierOf(row.plan),
  status: row.status,
  ...ownWindowOf(row),
  createdAt: row.created_at,
})

export async function tenantBySlug(db: DbOrTx, slug: string): Promise<TenantRecord | undefined> {
  const row = await db.selectFrom('tenants').selectAll().where('slug', '=', slug).executeTakeFirst()
  return row && toTenant(row)
}

export async function tenantByChatDomain(db: DbOrTx, chatDomain: string): Promise<TenantRecord | undefined> {
  const row = await db.selectFrom('tenants').selectAll().where('chat_domain', '=', chatDomain).executeTakeFirst()
  return row && toTenant(row)
}

type Page = Readonly<{ plan?: Plan | undefined; after?: string | undefined; limit: number }>

/** Tenants by slug, after the given one. */
export async function tenantsAfter(db: DbOrTx, { plan, after, limit }: Page): Promise<TenantRecord[]> {
  let query = db.selectFrom('tenants').selectAll().orderBy('slug').limit(limit)
  if (plan) query = query.where('plan', '=', plan)
  if (after) query = query.where('slug', '>', after)
  return (await query.execute()).map(toTenant)
}

export async function insertTenant(tx: Tx, tenant: TenantRecord): Promise<void> {
  const { chatDomain, createdAt, tier: _, timeZone, maintenanceWindow, ...same } = tenant
  await tx
    .insertInto('tenants')
    .values({ ...same, ...windowColumns({ timeZone, maintenanceWindow }), chat_domain: chatDomain, created_at: createdAt })
    .execute()
}

/** When it may be disturbed. */
export async function setWindow(tx: Tx, id: TenantId, own: OwnWindow): Promise<void> {
  await tx.updateTable('tenants').set(windowColumns(own)).where('id', '=', id).execute()
}

const windowColumns = ({ timeZone, maintenanceWindow }: OwnWindow) => ({
  time_zone: timeZone,
  maintenance_window: maintenanceWindow && JSON.stringify(maintenanceWindow),
})

/** For a tenant whose box never came to be. */
export async function deleteTenant(tx: Tx, id: TenantId): Promise<void> {
  await tx.deleteFrom('tenants').where('id', '=', id).execute()
}
