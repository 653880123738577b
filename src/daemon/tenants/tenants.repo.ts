import { type Plan, type TenantId, tierOf } from '../../core/boxes/index.ts'
import type { Tenant } from '../../core/tenants/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { TenantTable } from './tenants.tables.ts'

/** A tenant as the daemon's rooms know it. */
export type TenantRecord = Tenant & Readonly<{ id: TenantId }>

const toTenant = (row: TenantTable): TenantRecord => ({
  id: row.id as TenantId,
  slug: row.slug,
  name: row.name,
  chatDomain: row.chat_domain,
  plan: row.plan,
  tier: tierOf(row.plan),
  status: row.status,
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
  const { chatDomain, createdAt, tier: _, ...same } = tenant
  await tx
    .insertInto('tenants')
    .values({ ...same, chat_domain: chatDomain, created_at: createdAt })
    .execute()
}

/** For a tenant whose box never came to be. */
export async function deleteTenant(tx: Tx, id: TenantId): Promise<void> {
  await tx.deleteFrom('tenants').where('id', '=', id).execute()
}
