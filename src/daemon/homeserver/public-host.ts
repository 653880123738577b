import type { DbOrTx } from '../db/index.ts'

type Tenant = Readonly<{ id: string; chatDomain: string }>

/** The host where clients reach the tenant's chat: that of its live box, without one the chat domain. */
export async function publicHostOf(db: DbOrTx, { id, chatDomain }: Tenant): Promise<string> {
  const box = await db.selectFrom('boxes').select('public_url').where('tenant_id', '=', id).where('live', '=', 1).executeTakeFirst()
  return box && URL.canParse(box.public_url) ? new URL(box.public_url).host : chatDomain
}
