import { join } from 'node:path'
import { type Clock, isProblem, problem } from '../../core/kit/index.ts'
import { type FullManifest, manifestOfFetched, matchesManifest, runConcurrently } from '../backup/index.ts'
import type { BoxServers, ContainerEngine, SnapshotStore } from '../ports/index.ts'

export type FetchedFiles = Readonly<{ manifest: FullManifest; dumpFolder: string; boxFolder: string }>

/** A command whose payload names its snapshot. */
type Fetched = Readonly<{
  payload: Readonly<{ snapshotId: string; snapshotSha256: string | null }>
  folder: string
  repository: Parameters<typeof manifestOfFetched>[1]['repository']
  signal?: AbortSignal
}>

/** Describes the fetched files by their manifest. Use the dump itself only inside `whileVerified`. */
export async function fetchedSnapshot(
  deps: Pick<RebuildDeps, 'snapshots'>,
  { payload: { snapshotId, snapshotSha256 }, ...how }: Fetched,
): Promise<FetchedFiles> {
  const manifest = await manifestOfFetched(deps, { ...how, snapshotId, manifestSha256: snapshotSha256 })
  return { manifest, dumpFolder: join(how.folder, 'dump'), boxFolder: join(how.folder, 'box') }
}

type Proving = Readonly<{
  /** Fetches the dump again (`fetchDumpAgain`) and removes what was made of the damaged one, if `work` does not begin with that. */
  again(): Promise<unknown>
  signal?: AbortSignal
}>

/**
 * Works with a dump while all of it is compared with its manifest again: since the fetch the agent may have been killed or the disk have
 * lost data. A damaged dump is fetched again and the work repeated, once. Nothing may serve the result before this resolves. Throws
 * RESTORE_FAILED.
 */
export async function whileVerified(
  fetched: Pick<FetchedFiles, 'dumpFolder' | 'manifest'>,
  work: (signal: AbortSignal) => Promise<void>,
  { again, signal }: Proving,
): Promise<void> {
  if (await isIntactDuring(fetched, work, signal)) return
  await again()
  if (!(await isIntactDuring(fetched, work, signal))) throw damagedTwice(fetched.dumpFolder)
}

/** False if the dump is damaged; any other failure of the work is thrown. */
async function isIntactDuring(
  { dumpFolder, manifest }: Pick<FetchedFiles, 'dumpFolder' | 'manifest'>,
  work: (signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<boolean> {
  const isIntact = (within?: AbortSignal) => matchesManifest(dumpFolder, manifest, within).catch(() => within?.aborted === true)
  const damaged = damagedOnce(dumpFolder)
  const prove = async (within: AbortSignal) => {
    if (!(await isIntact(within))) throw damaged
  }
  try {
    await runConcurrently([prove, work], signal)
    return true
  } catch (error) {
    if (error === damaged) return false
    // A load may meet the damage before all is read.
    if (isProblem(error, 'RESTORE_FAILED') && !(await isIntact(signal))) return false
    throw error
  }
}

const damagedOnce = (dumpFolder: string) =>
  problem('RESTORE_FAILED', `the dump in ${dumpFolder} is damaged since it was fetched. fix: try again`)

const damagedTwice = (dumpFolder: string) =>
  problem(
    'RESTORE_FAILED',
    `the dump in ${dumpFolder} was fetched twice and does not match its manifest. fix: check the disk of this host (kernel log), or use another snapshot`,
  )

export type RebuildDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  clock: Clock
  /** Repositories that this host may run, from the agent's own config. */
  allowedImages: readonly string[]
}>
