import type { Selectable } from 'kysely'
import type { RegistryEntry } from '../../core/hosts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { SealedColumn } from '../sealed/index.ts'
import type { RegistryTable } from './hosts.tables.ts'

/** What this room keeps sealed, for `tenantryd rekey`. */
export const hostsSealedColumns: readonly SealedColumn[] = [{ table: 'registries', column: 'sealed_password', key: 'id' }]

export const sealedAt = (row: string) => ({ table: 'registries', row, column: 'sealed_password' })

export type Registry = Omit<RegistryEntry, 'host' | 'hasPassword'> & Readonly<{ id: string; hostId: string | null; sealed: string | null }>

/** One entry per registry and host; the star stands for all hosts. */
export const registryId = (hostId: string | null, registry: string): string => `${hostId ?? '*'}/${registry}`

const registryIn = (row: Selectable<RegistryTable>): Registry => ({
  id: row.id,
  hostId: row.host_id,
  registry: row.registry,
  mirror: row.mirror,
  username: row.username,
  sealed: row.sealed_password,
  updatedAt: row.updated_at,
  updatedBy: row.updated_by,
})

/** All, or those that count for one host: its own, and those of all hosts. */
export async function registriesFor(db: DbOrTx, hostId?: string): Promise<Registry[]> {
  let query = db.selectFrom('registries').selectAll().orderBy('registry').orderBy('id')
  if (hostId !== undefined) query = query.where((either) => either.or([either('host_id', 'is', null), either('host_id', '=', hostId)]))
  return (await query.execute()).map(registryIn)
}

export async function findRegistry(db: DbOrTx, id: string): Promise<Registry | undefined> {
  const row = await db.selectFrom('registries').selectAll().where('id', '=', id).executeTakeFirst()
  return row && registryIn(row)
}

export async function saveRegistry(
  tx: Tx,
  { id, hostId, registry, mirror, username, sealed, updatedAt, updatedBy }: Registry,
): Promise<void> {
  const said = { mirror, username, sealed_password: sealed, updated_at: updatedAt, updated_by: updatedBy }
  await tx
    .insertInto('registries')
    .values({ id, host_id: hostId, registry, ...said })
    .onConflict((c) => c.column('id').doUpdateSet(said))
    .execute()
}

/** False when there was none. */
export async function deleteRegistry(tx: Tx, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx.deleteFrom('registries').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}
