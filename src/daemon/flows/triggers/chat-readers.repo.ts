import { sql } from 'kysely'
import { type Clock, isoNow } from '../../../core/kit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { isOfActiveTenant } from './triggers.repo.ts'
import type { ChatReaderTable } from './triggers.tables.ts'

export const leasePrefix = 'triggers.chat:'

/** Tenants with chat triggers, with the end of the lease on each; null: no process ever had it. */
export async function readerStates({ db }: Readonly<{ db: DbOrTx }>) {
  return db
    .selectFrom('chat_readers')
    .leftJoin('leases', (join) => join.on('leases.name', '=', sql<string>`${sql.lit(leasePrefix)} || chat_readers.tenant_id`))
    .select(['tenant_id', 'revision', 'leases.holder', 'leases.expires_at'])
    .where(isOfActiveTenant('chat_readers'))
    .execute()
}

/** The reader of a tenant and its live box. */
export async function readerOf(
  db: DbOrTx,
  tenantId: string,
): Promise<Readonly<{ reader: ChatReaderTable; boxId: string | null }> | undefined> {
  const row = await db
    .selectFrom('chat_readers')
    .leftJoin('boxes', (join) => join.onRef('boxes.tenant_id', '=', 'chat_readers.tenant_id').on('boxes.live', '=', 1))
    .selectAll('chat_readers')
    .select('boxes.id as live_box')
    .where('chat_readers.tenant_id', '=', tenantId)
    .executeTakeFirst()
  if (!row) return undefined
  const { live_box: boxId, ...reader } = row
  return { reader, boxId }
}

type Restart = Readonly<{ tenantId: string; from?: string }>

/** Reading continues with the newest messages: the token belongs to another box or to replaced data. `from`: with those since then. */
export async function restartReader(db: DbOrTx, clock: Clock, { tenantId, from = isoNow(clock) }: Restart): Promise<void> {
  await db.updateTable('chat_readers').set({ since: null, read_from: from }).where('tenant_id', '=', tenantId).execute()
}
