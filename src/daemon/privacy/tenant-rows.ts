import { sql } from 'kysely'
import { tableRules } from '../../core/privacy/index.ts'
import { type Db, type DbOrTx, deleteSome } from '../db/index.ts'

type Owner = NonNullable<(typeof tableRules)[string]['tenant']>

/** A row of another table with an id belongs to its tenant by `tenant_id`. */
export const isOfTenant = (owner: Owner, tenantId: string) =>
  typeof owner === 'string'
    ? sql`${sql.ref(owner)} = ${tenantId}`
    : sql`${sql.ref(owner.column)} in (select id from ${sql.table(owner.of)} where tenant_id = ${tenantId})`

/** A table comes after those that it references, so rows are deleted from the last one first. */
const tables = Object.entries(tableRules)
  .flatMap(([table, { tenant }]) => (tenant === null || table === 'tenants' ? [] : [{ table, owner: tenant }]))
  .toReversed()

const batch = 500

/** Deletes every row of a tenant but its own row in `tenants`. It can be interrupted and repeated. */
export async function deleteRowsOf(db: DbOrTx, tenantId: string, signal?: AbortSignal): Promise<void> {
  for (const { table, owner } of tables) {
    let deleted: number
    do {
      signal?.throwIfAborted()
      deleted = await deleteSome(db, { table, where: isOfTenant(owner, tenantId), limit: batch })
    } while (deleted === batch)
  }
}

const counted = {
  users: 'users',
  spaces: 'spaces',
  files: 'files',
  tasks: 'tasks',
  boards: 'boards',
  runs: 'runs',
  modules: 'module_installations',
  snapshots: 'snapshots',
} as const

/** How much a tenant has, in rows and in bytes of files. */
export async function countContents(db: Db, tenantId: string) {
  const contents = { users: 0, spaces: 0, files: 0, fileBytes: 0, tasks: 0, boards: 0, runs: 0, modules: 0, snapshots: 0 }
  for (const [name, table] of Object.entries(counted)) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)} where tenant_id = ${tenantId}`.execute(
      db,
    )
    contents[name as keyof typeof counted] = Number(rows[0]?.count)
  }
  const bytes = await sql<{ bytes: number }>`select bytes from file_usage where tenant_id = ${tenantId}`.execute(db)
  return { ...contents, fileBytes: Number(bytes.rows[0]?.bytes ?? 0) }
}
