import type { DbOrTx } from '../db/index.ts'
import { type TenantRecord, tenantByChatDomain, tenantBySlug } from '../tenants/index.ts'

/** The tenant that a login names by slug or by its full chat domain, in any case. */
export async function tenantOf(db: DbOrTx, given: string): Promise<TenantRecord | undefined> {
  const name = given.trim().toLowerCase()
  return (await tenantBySlug(db, name)) ?? (await tenantByChatDomain(db, name))
}

/** Where clients reach the tenant's chat, without scheme: the live box's public address. */
export async function homeOf(db: DbOrTx, { id, chatDomain }: TenantRecord): Promise<string> {
  const box = await db.selectFrom('boxes').select('public_url').where('tenant_id', '=', id).where('live', '=', 1).executeTakeFirst()
  return box && URL.canParse(box.public_url) ? new URL(box.public_url).host : chatDomain
}
