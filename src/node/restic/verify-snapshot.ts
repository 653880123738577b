import { plural, problem, sha256Hex } from '../../core/kit/index.ts'
import type { OnWaiting, Repository } from './repository.ts'
import { namesDamage, readBrokenPacks } from './restic-output.ts'
import { resticProblem } from './restic-problem.ts'
import { type Ended, type ResticOptions, runRestic, runWaiting } from './run-restic.ts'

export type NewSnapshot = Readonly<{
  /** Full id. */
  id: string
  commandId: string
  /** A file of the snapshot that is read back and compared. */
  sample?: Readonly<{ path: string; sha256: string }> | undefined
  signal?: AbortSignal | undefined
  onWaiting?: OnWaiting | undefined
}>

/**
 * Verifies in the store what a backup only believes: restic stores no data that its index names, present or not. Checks presence and size of
 * all packs and reads the sample back. Damage that only other snapshots refer to is none of this one. Throws SNAPSHOT_FAILED.
 */
export async function verifySnapshot(options: ResticOptions, repository: Repository, snapshot: NewSnapshot): Promise<void> {
  const { id, commandId, sample, signal } = snapshot
  const ask = (args: readonly string[]) => runRestic(options, repository, { args, commandId, signal, accept: [1] })
  // At the same time, because opening a repository takes longer than either. The cache holds the trees that the backup has just used; the
  // packs are listed in the store.
  const [checked, read] = await Promise.all([
    ask(['check', '--json', '--no-lock', '--with-cache']),
    sample && ask(['dump', '--no-lock', '--', id, sample.path]),
  ])
  if (checked.exitCode !== 0) await assertUnaffected(options, repository, snapshot)
  if (!read || sha256Hex(read.stdout) === sample?.sha256) return
  throw read.exitCode === 0 ? notWhole(repository, snapshot, []) : failed(repository, read)
}

const failed = (repository: Repository, ended: Ended) => resticProblem({ ...ended, timedOut: false, missing: false }, repository)

/**
 * Checks again under the lock: without it a prune may have moved packs meanwhile. The box may be fenced, so this uses the cache too: packs are
 * always listed in the store.
 */
async function assertUnaffected(options: ResticOptions, repository: Repository, snapshot: NewSnapshot): Promise<void> {
  const { commandId, signal, onWaiting } = snapshot
  const args = ['check', '--json', '--with-cache']
  const checked = await runWaiting(options, repository, { args, commandId, signal, accept: [1], onWaiting })
  if (checked.exitCode === 0) return
  if (!namesDamage(checked)) throw failed(repository, checked)
  const packs = readBrokenPacks(checked)
  if (await isAffected(options, repository, { snapshot, packs })) throw notWhole(repository, snapshot, packs)
}

/** More names would not fit into the arguments of a program. */
const maxPacks = 1_000

/** Whether the snapshot needs one of these packs, or a tree that cannot be read. Unknown counts as needed. */
async function isAffected(
  options: ResticOptions,
  repository: Repository,
  { snapshot: { id, commandId, signal }, packs }: Readonly<{ snapshot: NewSnapshot; packs: readonly string[] }>,
): Promise<boolean> {
  if (packs.length > maxPacks) return true
  const ask = (args: readonly string[]) => runRestic(options, repository, { args, commandId, signal, accept: [1] })
  const trees = await ask(['stats', '--json', '--no-lock', '--mode', 'raw-data', id])
  if (trees.exitCode !== 0) return true
  if (packs.length === 0) return false
  const found = await ask(['find', '--json', '--no-lock', '--snapshot', id, '--pack', ...packs])
  return found.exitCode !== 0 || found.stdout.trim() !== '[]'
}

function notWhole({ repository }: Repository, { id }: NewSnapshot, packs: readonly string[]) {
  const which =
    packs.length > 0 ? `${plural(packs.length, 'pack')} missing or damaged: ${packs.slice(0, 3).join(', ')}` : 'it cannot be read back'
  return problem(
    'SNAPSHOT_FAILED',
    `The new snapshot ${id.slice(0, 8)} is incomplete in ${repository} (${which}). fix: repair the repository (docs/snapshots.md), then try again`,
  )
}
