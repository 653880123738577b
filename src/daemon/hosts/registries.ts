import type { Selectable } from 'kysely'
import type { RegistryEntry, RegistrySetting } from '../../core/hosts/index.ts'
import { type Actor, actorLabel, type Clock, isoNow, problem, type Random } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'
import { type Keyring, type SealedColumn, seal } from '../sealed/index.ts'
import { allHosts, hostByName } from './hosts.repo.ts'
import type { RegistryTable } from './hosts.tables.ts'

/** Columns that `tenantryd rekey` seals again. */
export const hostsSealedColumns: readonly SealedColumn[] = [{ table: 'registries', column: 'sealed_password', key: 'id' }]

export const sealedAt = (row: string) => ({ table: 'registries', row, column: 'sealed_password' })

type Registry = Omit<RegistryEntry, 'host' | 'hasPassword'> & Readonly<{ id: string; hostId: string | null; sealed: string | null }>

/** `*` as host id means all hosts. */
const registryId = (hostId: string | null, registry: string): string => `${hostId ?? '*'}/${registry}`

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

/** All entries, or those that apply to one host: its own and those for all hosts. */
export async function registriesFor(db: DbOrTx, hostId?: string): Promise<Registry[]> {
  let query = db.selectFrom('registries').selectAll().orderBy('registry').orderBy('id')
  if (hostId !== undefined) query = query.where((either) => either.or([either('host_id', 'is', null), either('host_id', '=', hostId)]))
  return (await query.execute()).map(registryIn)
}

async function findRegistry(db: DbOrTx, id: string): Promise<Registry | undefined> {
  const row = await db.selectFrom('registries').selectAll().where('id', '=', id).executeTakeFirst()
  return row && registryIn(row)
}

async function saveRegistry(tx: Tx, { id, hostId, registry, mirror, username, sealed, updatedAt, updatedBy }: Registry): Promise<void> {
  const values = { mirror, username, sealed_password: sealed, updated_at: updatedAt, updated_by: updatedBy }
  await tx
    .insertInto('registries')
    .values({ id, host_id: hostId, registry, ...values })
    .onConflict((c) => c.column('id').doUpdateSet(values))
    .execute()
}

/** Returns false if there was no entry. */
async function deleteRegistry(tx: Tx, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx.deleteFrom('registries').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

export type RegistryDeps = Readonly<{ db: Db; clock: Clock; random: Random; keyring: Keyring }>

const hostIdOf = async (db: DbOrTx, host: string | null): Promise<string | null> => (host === null ? null : (await hostByName(db, host)).id)

/** Sets mirror and credentials of a registry. The password is sealed and sent only to the agent of a leased command that pulls. Throws NOT_FOUND, VALIDATION. */
export async function setRegistry(
  { db, clock, random, keyring }: RegistryDeps,
  actor: Actor,
  input: RegistrySetting,
): Promise<RegistryEntry> {
  const { registry, host, mirror = null, username = null, password } = input
  return db.transaction().execute(async (tx) => {
    const hostId = await hostIdOf(tx, host)
    const id = registryId(hostId, registry)
    const former = await findRegistry(tx, id)
    const storedPassword = former?.username === username ? (former?.sealed ?? null) : null
    const sealed = username === null ? null : password === undefined ? storedPassword : seal({ keyring, random }, sealedAt(id), password)
    if (username !== null && sealed === null)
      throw problem('VALIDATION', `No password is stored for ${username} at ${registry}. fix: pass the password`)
    const entry: Registry = { id, hostId, registry, mirror, username, sealed, updatedAt: isoNow(clock), updatedBy: actorLabel(actor) }
    await saveRegistry(tx, entry)
    const data = { host, mirror, username, passwordChanged: password !== undefined }
    await recordAudit(tx, clock, { actor, action: 'registry.set', subject: registry, data })
    return entryOf(entry, host)
  })
}

/** Throws NOT_FOUND. */
export async function removeRegistry(
  { db, clock }: RegistryDeps,
  actor: Actor,
  { registry, host }: { registry: string; host: string | null },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (!(await deleteRegistry(tx, registryId(await hostIdOf(tx, host), registry))))
      throw problem('NOT_FOUND', `Registry ${registry} has no settings for ${host ?? 'all hosts'}. fix: tenantry hosts registries list`)
    await recordAudit(tx, clock, { actor, action: 'registry.removed', subject: registry, data: { host } })
  })
}

export async function listRegistries({ db }: Pick<RegistryDeps, 'db'>): Promise<RegistryEntry[]> {
  const names = new Map<string, string>((await allHosts(db)).map(({ id, name }) => [id, name]))
  return (await registriesFor(db)).map((entry) => entryOf(entry, entry.hostId && (names.get(entry.hostId) ?? null)))
}

const entryOf = ({ registry, mirror, username, sealed, updatedAt, updatedBy }: Registry, host: string | null): RegistryEntry => ({
  registry,
  host,
  mirror,
  username,
  hasPassword: sealed !== null,
  updatedAt,
  updatedBy,
})
