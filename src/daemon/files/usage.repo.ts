import { type DbOrTx, forUpdate, type Tx } from '../db/index.ts'

/** What the files of a tenant take; until the transaction ends nobody else can set aside space there. */
export async function lockUsage(tx: Tx, tenantId: string): Promise<number> {
  await tx
    .insertInto('file_usage')
    .values({ tenant_id: tenantId, bytes: 0 })
    .onConflict((c) => c.column('tenant_id').doNothing())
    .execute()
  const one = tx.selectFrom('file_usage').select('bytes').where('tenant_id', '=', tenantId)
  return (await one.modifyEnd(forUpdate(tx)).executeTakeFirstOrThrow()).bytes
}

/** The same, to be shown. */
export async function usageOf(db: DbOrTx, tenantId: string): Promise<number> {
  const row = await db.selectFrom('file_usage').select('bytes').where('tenant_id', '=', tenantId).executeTakeFirst()
  return row?.bytes ?? 0
}

/** In the transaction that changes what a file takes, so that the sum is always that of the files. */
export async function addUsage(tx: Tx, tenantId: string, bytes: number): Promise<void> {
  if (bytes === 0) return
  await tx
    .updateTable('file_usage')
    .set((eb) => ({ bytes: eb('bytes', '+', bytes) }))
    .where('tenant_id', '=', tenantId)
    .execute()
}

/** What a tenant may keep, by its plan. */
export async function planOf(db: DbOrTx, tenantId: string): Promise<'light' | 'pro' | 'dedicated'> {
  const row = await db.selectFrom('tenants').select('plan').where('id', '=', tenantId).executeTakeFirst()
  return row?.plan ?? 'light'
}
