import { mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type AgentError, type ListedSnapshot, type RepositoryReport, SnapshotTaken } from '../../core/boxes/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import type { Repository, StoredSnapshot } from './repository.ts'
import { namesDamage, readBrokenPacks, readFreedBytes, readSnapshots } from './restic-output.ts'
import { resticProblem } from './restic-problem.ts'
import { type Ended, type ResticOptions, runRestic, runWaiting, storeTimeoutOf } from './run-restic.ts'

/** `structure`: every snapshot's files are listed and there. `data`: all of them are read as well, which may take hours. */
type CheckDepth = 'structure' | 'data'

/** What keeps a repository in order. Throws BACKUP_KEY_INVALID, SNAPSHOT_STORE_UNAVAILABLE, SNAPSHOT_FAILED, DISK_FULL. */
export type RepositoryCare = Readonly<{
  /** All snapshots, oldest first. Waits for nobody's lock. */
  list(repository: Repository): Promise<readonly StoredSnapshot[]>
  /** Takes snapshots off the list; their data stays until `prune`. Full ids alone (VALIDATION); one that is not there is no failure. */
  forget(repository: Repository, ids: readonly string[], signal?: AbortSignal): Promise<void>
  /** Removes what no snapshot refers to, and answers about how many bytes that freed. Nobody else can work on the repository meanwhile. */
  prune(repository: Repository, signal?: AbortSignal): Promise<number | null>
  /** A repository that is damaged is an answer, with the pack files that are; thrown is only that it could not be looked at. */
  check(repository: Repository, depth: CheckDepth, signal?: AbortSignal): Promise<{ ok: boolean; error: AgentError | null }>
  /** Lets the repository's recovery password open it too. Does nothing where none is given, or where it does so already. */
  addRecoverySlot(repository: Repository): Promise<void>
}>

/** Looking after repositories with restic. The credentials must allow to delete. */
export function resticCare(options: ResticOptions): RepositoryCare {
  const list = async (repository: Repository) => {
    const args = ['snapshots', '--json', '--no-lock']
    return readSnapshots((await runRestic(options, repository, { args, timeoutMs: storeTimeoutOf(options) })).stdout)
  }
  const kept = async (repository: Repository, ids: readonly string[]) => {
    const present = new Set((await list(repository)).map(({ id }) => id))
    return ids.filter((id) => present.has(id))
  }
  return {
    list,
    forget: async (repository, ids, signal) => {
      needFullIds(ids)
      const there = await kept(repository, ids)
      if (there.length === 0) return
      await runWaiting(options, repository, { args: ['forget', '--', ...there], ...(signal ? { signal } : {}) })
      const left = await kept(repository, there)
      if (left.length === 0) return
      throw problem('SNAPSHOT_FAILED', `${plural(left.length, 'snapshot')} of ${repository.repository} could not be forgotten: ${left[0]}`)
    },
    prune: async (repository, signal) =>
      readFreedBytes(await runWaiting(options, repository, { args: ['prune'], ...(signal ? { signal } : {}) })),
    check: async (repository, depth, signal) => {
      // Reading all may take hours: the lock would keep every update of the box waiting, and only a prune could disturb it.
      const args = depth === 'data' ? ['check', '--json', '--no-lock', '--read-data'] : ['check', '--json']
      const ended = await runWaiting(options, repository, { args, accept: [1], ...(signal ? { signal } : {}) })
      return ended.exitCode === 0 ? { ok: true, error: null } : { ok: false, error: damage(ended, repository) }
    },
    addRecoverySlot: (repository) => addRecoverySlot(options, repository),
  }
}

/** Ids are decided elsewhere and meant literally: a prefix, or a word of restic's own such as `latest`, could hit another one. */
function needFullIds(ids: readonly string[]): void {
  const wrong = ids.find((id) => !SnapshotTaken.shape.snapshotId.safeParse(id).success || id.length !== 64)
  if (wrong !== undefined) throw problem('VALIDATION', `${JSON.stringify(wrong.slice(0, 80))} is no full id of a snapshot`)
}

/** Throws where the check itself could not be made. */
function damage(ended: Ended, repository: Repository): AgentError {
  const failure = resticProblem({ ...ended, timedOut: false, missing: false }, repository)
  if (!namesDamage(ended)) throw failure
  const packs = readBrokenPacks(ended)
  const which = packs.length > 0 ? `${plural(packs.length, 'pack')}: ${packs.slice(0, 3).join(', ')}` : failure.message
  return {
    code: 'SNAPSHOT_FAILED',
    message: `the repository ${repository.repository} is damaged (${which}); take a snapshot now, and see which older ones restic can still read`,
  }
}

const wrongPassword = 12

/** Lets the recovery password open the repository too. Does nothing where none is given, or where it does so already. */
async function addRecoverySlot(options: ResticOptions, repository: Repository): Promise<void> {
  const { recoveryPassword } = repository
  if (recoveryPassword === undefined || recoveryPassword === repository.password) return
  if (await opens(options, { ...repository, password: recoveryPassword })) return
  const args = ['key', 'add', '--user', 'recovery', '--host', 'tenantry', '--new-password-file', '/dev/fd/3']
  await withNamelessFile(recoveryPassword, (file) => runWaiting(options, repository, { args, file, timeoutMs: storeTimeoutOf(options) }))
}

async function opens(options: ResticOptions, repository: Repository): Promise<boolean> {
  const run = { args: ['cat', 'config', '--no-lock'], timeoutMs: storeTimeoutOf(options), accept: [wrongPassword] }
  return (await runRestic(options, repository, run)).exitCode === 0
}

/** A file in memory that has no name any more when it is used: only who is given its descriptor can read it. */
async function withNamelessFile<Result>(content: string, use: (file: number) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join('/dev/shm', 'tenantry-')).catch((cause) => {
    throw problem('SNAPSHOT_FAILED', 'the recovery key cannot be added: this machine has no /dev/shm to hand it to restic', { cause })
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
  /** Full ids, decided by the caller. */
  forget: readonly string[]
  prune: boolean
  check: 'none' | CheckDepth
}>

/** The contract's own limit; the newest are what anybody asks for. */
const mostListed = 5_000

/**
 * Forgets, prunes, checks, lists, in this order. It may be called again after it broke off: what is gone already counts as forgotten.
 * Throws VALIDATION for an id that is not a full one, else as `RepositoryCare`; damage is in the result.
 */
export async function tendRepository(
  care: RepositoryCare,
  repository: Repository,
  { forget, prune, check }: Tending,
  signal?: AbortSignal,
): Promise<RepositoryReport> {
  if (forget.length > 0) await care.forget(repository, forget, signal)
  const freedBytes = prune ? await care.prune(repository, signal) : null
  const checked = check === 'none' ? null : await care.check(repository, check, signal)
  const present = await care.list(repository)
  const ids = new Set(present.map(({ id }) => id))
  return { forgotten: forget.filter((id) => !ids.has(id)), present: present.slice(-mostListed).map(listed), freedBytes, check: checked }
}

/** A warm copy is nobody's snapshot: it bears no tier, so that no retention counts it. */
const listed = ({ id, tier, commandId, slug, takenAt, addedBytes, warm }: StoredSnapshot): ListedSnapshot => ({
  snapshotId: id,
  tier: warm ? null : tier,
  commandId,
  slug,
  takenAt,
  addedBytes,
})
