import { type AgentError, SnapshotTaken } from '../../core/boxes/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import { addRecoverySlot } from './recovery-slot.ts'
import type { Repository, StoredSnapshot } from './repository.ts'
import { namesDamage, readBrokenPacks, readFreedBytes, readSnapshots } from './restic-output.ts'
import { resticProblem } from './restic-problem.ts'
import { type Ended, type ResticOptions, runRestic, runWaiting, storeTimeoutOf } from './run-restic.ts'

/** `structure`: every snapshot's files are listed and there. `data`: all of them are read as well, which may take hours. */
export type CheckDepth = 'structure' | 'data'

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
