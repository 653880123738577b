import { mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type AgentError, type ArchivePart, type ListedSnapshot, type RepositoryReport, SnapshotTaken } from '../../core/boxes/index.ts'
import { asJson, plural, problem } from '../../core/kit/index.ts'
import { partsInUse } from '../../core/snapshots/index.ts'
import type { Repository, StoredSnapshot } from './repository.ts'
import { namesDamage, readBrokenPacks, readFreedBytes, readSnapshots } from './restic-output.ts'
import { lostRepository, resticProblem } from './restic-problem.ts'
import { type Ended, type ResticOptions, runRestic, runWaiting, storeTimeoutOf } from './run-restic.ts'

/** `structure` checks that all listed files exist. `data` also reads them, which may take hours. */
type CheckDepth = 'structure' | 'data'

/** Maintenance of a repository. Throws BACKUP_KEY_INVALID, SNAPSHOT_STORE_LOST, SNAPSHOT_STORE_UNAVAILABLE, SNAPSHOT_FAILED, DISK_FULL. */
export type RepositoryMaintenance = Readonly<{
  /** restic's id of the repository. Throws SNAPSHOT_STORE_LOST where there is none, or another one than `repositoryId`. */
  identify(repository: Repository): Promise<string>
  /** All snapshots, oldest first. Takes no lock. */
  list(repository: Repository): Promise<readonly StoredSnapshot[]>
  /** Removes snapshots; their data stays until `prune`. Requires full ids (throws VALIDATION) and ignores missing ones. */
  forget(repository: Repository, ids: readonly string[], signal?: AbortSignal): Promise<void>
  /** Deletes unreferenced data under an exclusive lock and returns the approximate bytes freed. */
  prune(repository: Repository, signal?: AbortSignal): Promise<number | null>
  /** A damaged repository is a result with the damaged packs; throws only when the check could not run. */
  check(repository: Repository, depth: CheckDepth, signal?: AbortSignal): Promise<{ ok: boolean; error: AgentError | null }>
  /** Adds the recovery password as a second key. Idempotent; does nothing without a recovery password. */
  addRecoverySlot(repository: Repository): Promise<void>
}>

/** Maintains repositories with restic; the credentials must allow deletes. */
export function resticMaintenance(options: ResticOptions): RepositoryMaintenance {
  const list = async (repository: Repository) => {
    const args = ['snapshots', '--json', '--no-lock']
    return readSnapshots((await runRestic(options, repository, { args, timeoutMs: storeTimeoutOf(options) })).stdout)
  }
  const kept = async (repository: Repository, ids: readonly string[]) => {
    const present = new Set((await list(repository)).map(({ id }) => id))
    return ids.filter((id) => present.has(id))
  }
  return {
    identify: (repository) => identify(options, repository),
    list,
    forget: async (repository, ids, signal) => {
      assertFullIds(ids)
      const there = await kept(repository, ids)
      if (there.length === 0) return
      await runWaiting(options, repository, { args: ['forget', '--', ...there], ...(signal ? { signal } : {}) })
      const left = await kept(repository, there)
      if (left.length === 0) return
      throw problem('SNAPSHOT_FAILED', `Cannot remove ${plural(left.length, 'snapshot')} of ${repository.repository}: ${left[0]}`)
    },
    prune: async (repository, signal) =>
      readFreedBytes(await runWaiting(options, repository, { args: ['prune'], ...(signal ? { signal } : {}) })),
    check: async (repository, depth, signal) => {
      // No lock for a data check: it may take hours and would block all updates of the box; only a prune could disturb it.
      const args = depth === 'data' ? ['check', '--json', '--no-lock', '--read-data'] : ['check', '--json']
      const ended = await runWaiting(options, repository, { args, accept: [1], ...(signal ? { signal } : {}) })
      return ended.exitCode === 0 ? { ok: true, error: null } : { ok: false, error: damage(ended, repository) }
    },
    addRecoverySlot: (repository) => addRecoverySlot(options, repository),
  }
}

async function identify(options: ResticOptions, repository: Repository): Promise<string> {
  const run = { args: ['cat', 'config', '--no-lock'], timeoutMs: storeTimeoutOf(options) }
  const { id } = (asJson((await runRestic(options, repository, run)).stdout) ?? {}) as { id?: unknown }
  if (typeof id !== 'string') throw problem('SNAPSHOT_FAILED', `restic did not report the id of ${repository.repository}`)
  const { repositoryId = id } = repository
  if (id === repositoryId) return id
  throw lostRepository(repository, `the repository ${id.slice(0, 8)} is there instead of ${repositoryId.slice(0, 8)}`)
}

/** Only full ids, because a prefix or restic's `latest` could match another snapshot. */
function assertFullIds(ids: readonly string[]): void {
  const wrong = ids.find((id) => !SnapshotTaken.shape.snapshotId.safeParse(id).success || id.length !== 64)
  if (wrong !== undefined) throw problem('VALIDATION', `${JSON.stringify(wrong.slice(0, 80))} is not a full snapshot id`)
}

/** Throws when the check itself failed to run. */
function damage(ended: Ended, repository: Repository): AgentError {
  const failure = resticProblem({ ...ended, timedOut: false, missing: false }, repository)
  if (!namesDamage(ended)) throw failure
  const packs = readBrokenPacks(ended)
  const which = packs.length > 0 ? `${plural(packs.length, 'pack')}: ${packs.slice(0, 3).join(', ')}` : failure.message
  return {
    code: 'SNAPSHOT_FAILED',
    message: `Repository ${repository.repository} is damaged (${which}). fix: take a new snapshot now, then check which older ones restic can still read`,
  }
}

const wrongPassword = 12

/** Adds the recovery password as a second key. Idempotent. */
async function addRecoverySlot(options: ResticOptions, repository: Repository): Promise<void> {
  const { recoveryPassword } = repository
  if (recoveryPassword === undefined || recoveryPassword === repository.password) return
  if (await opens(options, { ...repository, password: recoveryPassword })) return
  const args = ['key', 'add', '--user', 'recovery', '--host', 'tenantry', '--new-password-file', '/dev/fd/3']
  await withNamelessFile(recoveryPassword, (file) => runWaiting(options, repository, { args, file, timeoutMs: storeTimeoutOf(options) }))
}

async function opens({ keys: _, ...options }: ResticOptions, repository: Repository): Promise<boolean> {
  const run = { args: ['cat', 'config', '--no-lock'], timeoutMs: storeTimeoutOf(options), accept: [wrongPassword] }
  return (await runRestic(options, repository, run)).exitCode === 0
}

/** An unlinked in-memory file, readable only through its descriptor. */
async function withNamelessFile<Result>(content: string, use: (file: number) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join('/dev/shm', 'tenantry-')).catch((cause) => {
    throw problem('SNAPSHOT_FAILED', 'Cannot add the recovery key: this machine has no /dev/shm', { cause })
  })
  const file = await open(join(folder, 'secret'), 'wx+', 0o600)
  try {
    await rm(folder, { recursive: true })
    await file.writeFile(content)
    return await use(file.fd)
  } finally {
    await file.close()
  }
}

export type Tending = Readonly<{
  /** Full snapshot ids. */
  forget: readonly string[]
  prune: boolean
  check: 'none' | CheckDepth
}>

/** Limit of the contract; the newest snapshots are returned. */
const maxListed = 5_000
/** The number that fits into the result of a command beside the snapshots. */
const maxParts = 3_000

/**
 * Removes snapshots, prunes, checks and lists, in this order. Idempotent. Throws VALIDATION for a partial id and the errors of
 * `RepositoryMaintenance`; damage is part of the result.
 */
export async function maintainRepository(
  { care, repository }: Readonly<{ care: RepositoryMaintenance; repository: Repository }>,
  { forget, prune, check }: Tending,
  signal?: AbortSignal,
): Promise<RepositoryReport> {
  const repositoryId = await care.identify(repository)
  if (forget.length > 0) await care.forget(repository, forget, signal)
  const freedBytes = prune ? await care.prune(repository, signal) : null
  const checked = check === 'none' ? null : await care.check(repository, check, signal)
  const stored = await care.list(repository)
  const ids = new Set(stored.map(({ id }) => id))
  const forgotten = forget.filter((id) => !ids.has(id))
  const present = stored
    .filter(({ archive }) => !archive)
    .slice(-maxListed)
    .map(listed)
  const archive = reportedParts(stored.flatMap((one) => one.archive ?? []))
  return { forgotten, present, archive, freedBytes, check: checked, repositoryId }
}

/** The newest, and before all those that a recovery may use: of the others more are listed each time some are removed. */
function reportedParts(parts: readonly ArchivePart[]): ArchivePart[] {
  if (parts.length <= maxParts) return [...parts]
  const inUse = partsInUse(parts)
  return [...parts.filter((part) => !inUse.has(part)), ...inUse].slice(-maxParts)
}

/** A warm copy has no tier, so that retention ignores it. */
const listed = ({ id, tier, commandId, slug, takenAt, addedBytes, warm }: StoredSnapshot): ListedSnapshot => ({
  snapshotId: id,
  tier: warm ? null : tier,
  commandId,
  slug,
  takenAt,
  addedBytes,
})
