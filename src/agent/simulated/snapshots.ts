import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { isoNow, problem, sha256Hex } from '../../core/kit/index.ts'
import type { RepositoryMaintenance } from '../../node/restic/index.ts'
import type { Repository, SnapshotFacts, SnapshotRequest, SnapshotStore, StoredSnapshot } from '../ports/index.ts'
import type { World } from './world.ts'

type Snapshot = Readonly<{ facts: SnapshotFacts; takenAt: string; request: SnapshotRequest; files: ReadonlyMap<string, Buffer> }>
type Vault = { id: string; passwords: Set<string>; snapshots: Snapshot[]; forgotten: Snapshot[]; taken: number }

/** Repositories by address; hosts with the same map share them like a bucket. */
export type SimulatedVaults = Map<string, Vault>

/** Simulated snapshots over real files. */
export function simulatedSnapshots(world: World, vaults: SimulatedVaults): SnapshotStore {
  const { faults } = world
  const vaultOf = ({ repository, password, repositoryId }: Repository): Vault => {
    if (faults.strike('store-down', {})) throw problem('SNAPSHOT_STORE_UNAVAILABLE', `The snapshot store of ${repository} does not answer`)
    const vault = vaults.get(repository)
    if (!vault) throw problem('SNAPSHOT_STORE_LOST', `The snapshots in ${repository} are gone: no repository is there`)
    if (!vault.passwords.has(password)) throw problem('BACKUP_KEY_INVALID', `The backup key does not open ${repository}`)
    if (repositoryId !== undefined && repositoryId !== vault.id)
      throw problem('SNAPSHOT_STORE_LOST', `The snapshots in ${repository} are gone: another repository is there`)
    return vault
  }
  const care = simulatedCare(world, vaultOf)
  const own = new Set<string>()
  return {
    ...care,
    version: async () => '0.18.0',
    prepare: async (repository) => {
      if (repository.mayCreate && !vaults.has(repository.repository)) vaults.set(repository.repository, emptyVault(repository))
      await care.addRecoverySlot(repository)
      return { repositoryId: await care.identify(repository) }
    },
    take: async (repository, request, signal) => {
      const vault = vaultOf(repository)
      await faults.linger('snapshotMs', signal)
      if (faults.strike('disk-full', { box: request.slug }, ({ at }) => at === 'snapshot'))
        throw problem('DISK_FULL', 'No space left in the snapshot store')
      if (faults.strike('snapshot-fails', { box: request.slug }))
        throw problem('SNAPSHOT_FAILED', `The snapshot of ${request.slug} is incomplete`)
      await request.sample
      const files = await readFiles(request)
      const snapshot = { request, files, takenAt: isoNow(world.clock), facts: factsOf(request, files, vault.taken++) }
      vault.snapshots.push(snapshot)
      own.add(snapshot.facts.id)
      return snapshot.facts
    },
    takePart: async () => {
      throw problem('SNAPSHOT_FAILED', 'simulated stores have no archives')
    },
    ofCommand: async (repository, commandId) => {
      const taken = vaultOf(repository).snapshots
      return taken.findLast(({ request }) => request.commandId === commandId && request.warm !== true)?.facts
    },
    isOwn: async (_, id) => own.has(id),
    find: async (repository, id) => {
      return (await care.list(repository)).find((stored) => stored.id === id || (id.length >= 8 && stored.id.startsWith(id)))
    },
    restore: async (repository, { id, path, into }, signal) => {
      const snapshot = vaultOf(repository).snapshots.find(({ facts }) => facts.id === id)
      if (!snapshot) throw problem('RESTORE_FAILED', `Snapshot ${id} does not exist`)
      await faults.linger('snapshotMs', signal)
      await writeFiles(snapshot, path, into)
    },
  }
}

const emptyVault = ({ repository, password }: Repository): Vault => ({
  id: sha256Hex(repository),
  passwords: new Set([password]),
  snapshots: [],
  forgotten: [],
  taken: 0,
})

function simulatedCare({ faults }: World, vaultOf: (repository: Repository) => Vault): RepositoryMaintenance {
  return {
    identify: async (repository) => vaultOf(repository).id,
    list: async (repository) => vaultOf(repository).snapshots.map(storedSnapshot),
    forget: async (repository, ids) => {
      const wrong = ids.find((id) => !/^[0-9a-f]{64}$/.test(id))
      if (wrong !== undefined) throw problem('VALIDATION', `${JSON.stringify(wrong)} is not a full snapshot id`)
      const vault = vaultOf(repository)
      const goes = ({ facts }: Snapshot) => ids.includes(facts.id)
      vault.forgotten.push(...vault.snapshots.filter(goes))
      vault.snapshots = vault.snapshots.filter((snapshot) => !goes(snapshot))
    },
    prune: async (repository, signal) => {
      const vault = vaultOf(repository)
      await faults.linger('snapshotMs', signal)
      return vault.forgotten.splice(0).reduce((sum, { facts }) => sum + facts.addedBytes, 0)
    },
    check: async (repository, depth, signal) => {
      vaultOf(repository)
      await faults.linger('snapshotMs', signal)
      if (!faults.strike('store-damaged', {}, ({ found }) => found === 'structure' || depth === 'data')) return { ok: true, error: null }
      return { ok: false, error: { code: 'SNAPSHOT_FAILED', message: `Repository ${repository.repository} is damaged (1 pack)` } }
    },
    addRecoverySlot: async (repository) => {
      const { passwords } = vaultOf(repository)
      if (repository.recoveryPassword !== undefined) passwords.add(repository.recoveryPassword)
    },
  }
}

function factsOf(request: SnapshotRequest, files: ReadonlyMap<string, Buffer>, before: number): SnapshotFacts {
  const addedBytes = [...files.values()].reduce((sum, content) => sum + content.length, 0)
  return { id: sha256Hex(`${request.commandId}/${request.tier}/${before}`), addedBytes, files: files.size }
}

const storedSnapshot = ({ facts, takenAt, request, files }: Snapshot): StoredSnapshot => ({
  ...facts,
  takenAt,
  totalBytes: [...files.values()].reduce((sum, content) => sum + content.length, 0),
  databaseBytes: request.databaseBytes ?? null,
  paths: request.paths,
  tags: [],
  tier: request.tier,
  commandId: request.commandId,
  slug: request.slug,
  warm: request.warm ?? false,
  archive: null,
})

async function readFiles({ paths, exclude = [] }: SnapshotRequest): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const isLeftOut = (file: string) => exclude.some((path) => file === path || file.startsWith(`${path}/`))
  for (const path of paths) for (const file of await filesBelow(path)) if (!isLeftOut(file)) files.set(file, await readFile(file))
  return files
}

async function filesBelow(path: string): Promise<string[]> {
  const facts = await stat(path).catch(() => undefined)
  if (!facts) throw problem('SNAPSHOT_FAILED', `Path ${path} of the snapshot does not exist`)
  if (facts.isFile()) return [path]
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

async function writeFiles({ files, request }: Snapshot, path: string, into: string): Promise<void> {
  const wanted = [...files].filter(([file]) => file === path || file.startsWith(`${path}/`))
  if (wanted.length === 0 && !request.paths.includes(path)) throw problem('RESTORE_FAILED', `The snapshot does not contain ${path}`)
  await mkdir(into, { recursive: true })
  for (const [file, content] of wanted) {
    const target = join(into, relative(path, file) || 'content')
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, content)
  }
}
