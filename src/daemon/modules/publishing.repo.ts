import type { DbOrTx, Tx } from '../db/index.ts'

type Key = Readonly<{ tenantId: string; moduleId: string }>
/** Events that a module published in one minute, and the second of the last one that clients received. ISO 8601 without the rest. */
export type Publishing = Readonly<{ minute: string; published: number; notifiedAt: string | null }>

export async function findPublishing(db: DbOrTx, { tenantId, moduleId }: Key): Promise<Publishing | undefined> {
  const query = db.selectFrom('module_publishing').selectAll().where('tenant_id', '=', tenantId).where('module_id', '=', moduleId)
  const row = await query.executeTakeFirst()
  return row && { minute: row.minute, published: row.published, notifiedAt: row.notified_at }
}

/** The caller has locked the installation. */
export async function storePublishing(tx: Tx, { tenantId, moduleId }: Key, { minute, published, notifiedAt }: Publishing): Promise<void> {
  const values = { minute, published, notified_at: notifiedAt }
  await tx
    .insertInto('module_publishing')
    .values({ tenant_id: tenantId, module_id: moduleId, ...values })
    .onConflict((c) => c.columns(['tenant_id', 'module_id']).doUpdateSet(values))
    .execute()
}
