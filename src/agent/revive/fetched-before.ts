import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { readWholeDump, type TellingManifest } from '../backup/index.ts'

export type FetchedBefore = Readonly<{ manifest: TellingManifest; dumpFolder: string; boxFolder: string }>

/** What an earlier step brought into its folder (`fetchSnapshot`), read and checked again: between two steps an agent may have been killed. */
export async function fetchedBefore(folder: string): Promise<FetchedBefore> {
  const dumpFolder = join(folder, 'dump')
  const manifest = (await readWholeDump(dumpFolder))?.manifest
  if (!manifest?.paths || !manifest.box || !manifest.installed)
    throw problem('RESTORE_FAILED', `the snapshot that was fetched into ${folder} is no longer whole: try again`)
  return { manifest: manifest as TellingManifest, dumpFolder, boxFolder: join(folder, 'box') }
}
