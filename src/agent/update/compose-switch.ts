import { readFile } from 'node:fs/promises'
import { rewriteImages, rewriteVolumes } from '../boxes/index.ts'
import { composeBackup, formerCompose, replaceCompose, restoreCompose } from '../change/index.ts'
import { beforeOf, type UpdateRun } from './update-run.ts'

/** The compose file of the update's target: only the tags of changed services differ. */
export function targetText(run: UpdateRun, former: string, planned: readonly string[]): string {
  const wanted = Object.entries(run.payload.targets.services).filter(([service]) => planned.includes(service))
  return rewriteImages(former, Object.fromEntries(wanted.map(([service, { image }]) => [service, image])))
}

/** Keeps the former file beside it and puts the target in its place, by one rename. Does nothing twice; answers the backup's path. */
export async function switchToTarget(run: UpdateRun): Promise<string> {
  const { composeSha256, planned } = beforeOf(run)
  const backup = await composeBackup(run, composeSha256)
  await replaceCompose(run, targetText(run, await readFile(backup, 'utf8'), planned))
  return backup
}

/** Puts the former file back, byte for byte. Nothing to do where it was never exchanged. */
export const switchBack = (run: UpdateRun): Promise<void> => restoreCompose(run, beforeOf(run).composeSha256)

/** The former images over another database volume: the way back is one rename. */
export async function switchToRestored(run: UpdateRun, volume: string): Promise<void> {
  const { composeSha256, database } = beforeOf(run)
  await replaceCompose(run, rewriteVolumes(await formerCompose(run, composeSha256), { [database.key]: volume }))
}
