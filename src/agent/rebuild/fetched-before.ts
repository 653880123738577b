import { join } from 'node:path'
import { isProblem, problem } from '../../core/kit/index.ts'
import { holdsAll, manifestOfFetched, sideBySide, type TellingManifest } from '../backup/index.ts'
import type { ReviveDeps } from './deps.ts'

export type FetchedBefore = Readonly<{ manifest: TellingManifest; dumpFolder: string; boxFolder: string }>

/** Of one command, whose payload says which snapshot it is about. */
type Fetched = Readonly<{
  payload: Readonly<{ snapshotId: string; snapshotSha256: string | null }>
  folder: string
  repository: Parameters<typeof manifestOfFetched>[1]['repository']
  signal?: AbortSignal
}>

/** What an earlier step brought into its folder (`fetchSnapshot`), by its manifest. The dump itself is for `whileProven` alone. */
export async function fetchedBefore(
  deps: Pick<ReviveDeps, 'snapshots'>,
  { payload: { snapshotId, snapshotSha256 }, ...how }: Fetched,
): Promise<FetchedBefore> {
  const manifest = await manifestOfFetched(deps, { ...how, snapshotId, manifestSha256: snapshotSha256 })
  return { manifest, dumpFolder: join(how.folder, 'dump'), boxFolder: join(how.folder, 'box') }
}

type Proving = Readonly<{
  /** Brings the dump once more (`fetchDumpAgain`), and takes away what was made of the damaged one, if `work` does not begin with that. */
  again(): Promise<unknown>
  signal?: AbortSignal
}>

/**
 * Does what is done with a dump while all of it is read and compared with its manifest once more: since it was fetched an agent may have been
 * killed, or a disk have lost some of it. One that is not whole is brought again and the work done again, once; what was made of one that is
 * not whole must be served by nobody before this resolves. Throws RESTORE_FAILED.
 */
export async function whileProven(
  fetched: Pick<FetchedBefore, 'dumpFolder' | 'manifest'>,
  work: (signal: AbortSignal) => Promise<void>,
  { again, signal }: Proving,
): Promise<void> {
  if (await isProvenDuring(fetched, work, signal)) return
  await again()
  if (!(await isProvenDuring(fetched, work, signal))) throw damagedTwice(fetched.dumpFolder)
}

/** False where the dump is not whole; whatever else the work fails with is thrown. */
async function isProvenDuring(
  { dumpFolder, manifest }: Pick<FetchedBefore, 'dumpFolder' | 'manifest'>,
  work: (signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<boolean> {
  const isWhole = (within?: AbortSignal) => holdsAll(dumpFolder, manifest, within).catch(() => within?.aborted === true)
  const damaged = notWhole(dumpFolder)
  const prove = async (within: AbortSignal) => {
    if (!(await isWhole(within))) throw damaged
  }
  try {
    await sideBySide([prove, work], signal)
    return true
  } catch (error) {
    if (error === damaged) return false
    // A load comes upon the damage before all is read. What fails for another reason waits for no reading.
    if (isProblem(error, 'RESTORE_FAILED') && !(await isWhole(signal))) return false
    throw error
  }
}

const notWhole = (dumpFolder: string) =>
  problem('RESTORE_FAILED', `the snapshot that was fetched into ${dumpFolder} is no longer whole: try again`)

const damagedTwice = (dumpFolder: string) =>
  problem(
    'RESTORE_FAILED',
    `the dump in ${dumpFolder} was fetched twice and is not what its manifest says: look at the disk of this host (its kernel log), or use another snapshot`,
  )
