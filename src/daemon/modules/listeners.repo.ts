import type { DbOrTx, Tx } from '../db/index.ts'
import { type InstallationKey, type InstallationRecord, toInstallation } from './installations.repo.ts'

type Asked = Readonly<{ tenantId: string; head: number; now: string }>

/** Installations of a tenant that may run, with a position before `head` whose next attempt is due. `now`: ISO 8601. */
export async function listenersOf(db: DbOrTx, { tenantId, head, now }: Asked): Promise<InstallationRecord[]> {
  const rows = await db
    .selectFrom('module_installations as one')
    .innerJoin('tenants', 'tenants.id', 'one.tenant_id')
    .leftJoin('module_withdrawals as gone', (join) =>
      join.onRef('gone.module_id', '=', 'one.module_id').onRef('gone.version', '=', 'one.version'),
    )
    .innerJoin('module_positions as position', (join) =>
      join.onRef('position.tenant_id', '=', 'one.tenant_id').onRef('position.module_id', '=', 'one.module_id'),
    )
    .where('one.tenant_id', '=', tenantId)
    .where('position.seq', '<', head)
    .where(({ eb, or }) => or([eb('position.next_at', 'is', null), eb('position.next_at', '<=', now)]))
    .where('tenants.status', '=', 'active')
    .where('one.status', '=', 'active')
    .where('one.paused', '=', 0)
    .where(({ eb, or }) => or([eb('one.busy_until', 'is', null), eb('one.busy_until', '<=', now)]))
    .where('gone.module_id', 'is', null)
    .selectAll('one')
    .orderBy('one.module_id')
    .execute()
  return rows.map(toInstallation)
}

/** Adds to the size of the documents and returns it. The caller has locked the installation. */
export async function addDataBytes(tx: Tx, { tenantId, moduleId }: InstallationKey, bytes: number): Promise<number> {
  const row = await tx
    .updateTable('module_installations')
    .set((eb) => ({ data_bytes: eb('data_bytes', '+', bytes) }))
    .where('tenant_id', '=', tenantId)
    .where('module_id', '=', moduleId)
    .returning('data_bytes')
    .executeTakeFirstOrThrow()
  return Number(row.data_bytes)
}
