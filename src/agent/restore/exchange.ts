import { join } from 'node:path'
import { rewriteImages, rewriteVolumes } from '../boxes/index.ts'
import { composeBackup, formerCompose, replaceCompose, restoreCompose, resultOf } from '../change/index.ts'
import { keepFiles, putFiles, removeFiles, sameFiles } from './box-files.ts'
import { keptFiles, type RestoreRun, snapshotFiles } from './restore-run.ts'

// The switch: the snapshot's files come into place while nothing runs, then one rename of the compose file, which alone says whose volumes
// are served. The file keeps what belongs to this host, ports and names; only images and volumes become the restored ones.

/** The former compose file with the images of the snapshot and the new volumes. */
export function withRestored(run: RestoreRun, former: string, databaseVolume: string): string {
  const { data, database, snapshot } = resultOf(run, 'fetch')
  const images = Object.entries(snapshot.images).map(([service, { image }]) => [service, image])
  const volumes = [[database.key, databaseVolume], ...data.map(({ key, restored }) => [key, restored])]
  return rewriteVolumes(rewriteImages(former, Object.fromEntries(images)), Object.fromEntries(volumes))
}

/** What the compose file becomes by the switch; throws when nothing was loaded or the former one is gone. */
export async function restoredText(run: RestoreRun): Promise<string> {
  return withRestored(run, await formerCompose(run, resultOf(run, 'fetch').composeSha256), resultOf(run, 'load').volume)
}

const rules = 'edge/conf.d'

export async function switchToRestored(run: RestoreRun): Promise<{ edge: boolean; secrets: boolean }> {
  const { project } = run.box
  await composeBackup(run, resultOf(run, 'fetch').composeSha256)
  await keepFiles(project, keptFiles(run))
  const changed = async (path: string) => !(await sameFiles(join(keptFiles(run), path), join(snapshotFiles(run), path)))
  await putFiles(project, snapshotFiles(run))
  // The edge reads whatever lies there: a rule that the snapshot does not know could be a way past its fence.
  await removeFiles(project, { listed: project.folder, unless: snapshotFiles(run), below: rules })
  await replaceCompose(run, await restoredText(run))
  return { edge: await changed(rules), secrets: await changed('secrets/box.json') }
}

/** Puts everything back, byte for byte, and takes away what only the snapshot had. Nothing to do where nothing was exchanged. */
export async function switchBack(run: RestoreRun): Promise<void> {
  await removeFiles(run.box.project, { listed: snapshotFiles(run), unless: keptFiles(run) })
  await putFiles(run.box.project, keptFiles(run))
  await restoreCompose(run, resultOf(run, 'fetch').composeSha256)
}
