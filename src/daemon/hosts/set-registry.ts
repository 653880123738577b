import type { RegistryEntry, RegistrySetting } from '../../core/hosts/index.ts'
import { type Actor, actorLabel, type Clock, isoNow, problem, type Random } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { type Keyring, seal } from '../sealed/index.ts'
import { allHosts, hostByName } from './host.repo.ts'
import { deleteRegistry, findRegistry, type Registry, registriesFor, registryId, saveRegistry, sealedAt } from './registries.repo.ts'

export type RegistryDeps = Readonly<{ db: Db; clock: Clock; random: Random; keyring: Keyring }>

const hostIdOf = async (db: DbOrTx, host: string | null): Promise<string | null> => (host === null ? null : (await hostByName(db, host)).id)

/** Says how agents pull from a registry; the password is sealed and never leaves but to the holder of a command that pulls. Throws NOT_FOUND. */
export async function setRegistry(
  { db, clock, random, keyring }: RegistryDeps,
  actor: Actor,
  given: RegistrySetting,
): Promise<RegistryEntry> {
  const { registry, host, mirror = null, username = null, password } = given
  return db.transaction().execute(async (tx) => {
    const hostId = await hostIdOf(tx, host)
    const id = registryId(hostId, registry)
    const former = await findRegistry(tx, id)
    const kept = former?.username === username ? (former?.sealed ?? null) : null
    const sealed = username === null ? null : password === undefined ? kept : seal(keyring, random, sealedAt(id), password)
    if (username !== null && sealed === null) throw problem('VALIDATION', `give the password of ${username} at ${registry}`)
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
      throw problem('NOT_FOUND', `nothing is said of ${registry} for ${host ?? 'all hosts'}: \`tenantry hosts registries list\` shows all`)
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
