import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { holdsAll, isTelling, readManifest, sideBySide, type TellingManifest } from '../backup/index.ts'

export type FetchedBefore = Readonly<{ manifest: TellingManifest; dumpFolder: string; boxFolder: string }>

/** What an earlier step brought into its folder (`fetchSnapshot`), by its manifest. The dump itself is for `whileProven` alone. */
export async function fetchedBefore(folder: string): Promise<FetchedBefore> {
  const dumpFolder = join(folder, 'dump')
  const manifest = (await readManifest(dumpFolder))?.manifest
  if (!manifest || !isTelling(manifest)) throw notWhole(dumpFolder)
  return { manifest, dumpFolder, boxFolder: join(folder, 'box') }
}

/**
 * Does what is done with a dump while all of it is read and compared with its manifest once more: since it was fetched an agent may have been
 * killed. What was made of a dump that is not whole fails with it, and must be served by nobody before this resolves. Throws RESTORE_FAILED.
 */
export async function whileProven(
  { dumpFolder, manifest }: Pick<FetchedBefore, 'dumpFolder' | 'manifest'>,
  work: (signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const prove = async (within: AbortSignal) => {
    if (!(await holdsAll(dumpFolder, manifest, within).catch(() => false))) throw notWhole(dumpFolder)
  }
  await sideBySide([prove, work], signal)
}

const notWhole = (dumpFolder: string) =>
  problem('RESTORE_FAILED', `the snapshot that was fetched into ${dumpFolder} is no longer whole: try again`)
