import { sql } from 'kysely'
import type { DbOrTx, Tx } from '../db/index.ts'
import { type InstallationKey, type InstallationRecord, toInstallation } from './installations.repo.ts'

/** Installations that may run, by the rules of `runnableInstallation`. `now`: ISO 8601. */
export const runnable = (db: DbOrTx, now: string) =>
  db
    .selectFrom('module_installations as one')
    .innerJoin('tenants', 'tenants.id', 'one.tenant_id')
    .leftJoin('module_withdrawals as gone', (join) =>
      join.onRef('gone.module_id', '=', 'one.module_id').onRef('gone.version', '=', 'one.version'),
    )
    .where('tenants.status', '=', 'active')
    .where('one.status', '=', 'active')
    .where('one.paused', '=', 0)
    .where(({ eb, or }) => or([eb('one.busy_until', 'is', null), eb('one.busy_until', '<=', now)]))
    .where('gone.module_id', 'is', null)

/** Those whose next attempt is due. */
const ready = (db: DbOrTx, now: string) =>
  runnable(db, now)
    .innerJoin('module_positions as position', (join) =>
      join.onRef('position.tenant_id', '=', 'one.tenant_id').onRef('position.module_id', '=', 'one.module_id'),
    )
    .where(({ eb, or }) => or([eb('position.next_at', 'is', null), eb('position.next_at', '<=', now)]))

type Asked = Readonly<{ tenantId: string; head: number; now: string }>

/** Such installations of a tenant with a position before `head`. */
export async function listenersOf(db: DbOrTx, { tenantId, head, now }: Asked): Promise<InstallationRecord[]> {
  const rows = await ready(db, now)
    .where('one.tenant_id', '=', tenantId)
    .where('position.seq', '<', head)
    .selectAll('one')
    .orderBy('one.module_id')
    .execute()
  return rows.map(toInstallation)
}

type Behind = Readonly<{ tenantId: string; moduleId: string; version: string }>

/** Such installations of all tenants before the newest event: one statement, however many modules are paused or withdrawn. */
export async function installationsBehind(db: DbOrTx, now: string): Promise<Behind[]> {
  const rows = await ready(db, now)
    .innerJoin('streams', (join) => join.on('streams.stream', '=', sql<string>`'tenant:' || position.tenant_id`))
    .whereRef('streams.seq', '>', 'position.seq')
    .select(['one.tenant_id', 'one.module_id', 'one.version'])
    .execute()
  return rows.map((row) => ({ tenantId: row.tenant_id, moduleId: row.module_id, version: row.version }))
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
