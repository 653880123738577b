import { constants } from 'node:fs'
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isoNow, problem, sha256Hex } from '../../core/kit/index.ts'
import { syncFolder, writeFileAtomic } from '../../node/index.ts'
import { rewriteImages, rewriteVolumes } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { beforeOf, type UpdateRun } from './update-run.ts'

export const readComposeText = ({ project }: LocalBox): Promise<string> => readFile(project.composeFile, 'utf8')

/** The compose file of the update's target: only the tags of changed services differ. */
export function targetText(run: UpdateRun, former: string, planned: readonly string[]): string {
  const wanted = Object.entries(run.payload.targets.services).filter(([service]) => planned.includes(service))
  return rewriteImages(former, Object.fromEntries(wanted.map(([service, { image }]) => [service, image])))
}

/** Keeps the former file beside it and puts the target in its place, by one rename. Does nothing twice; answers the backup's path. */
export async function switchToTarget(run: UpdateRun): Promise<string> {
  const backup = (await findBackup(run)) ?? (await writeBackup(run))
  const target = targetText(run, await readFile(backup, 'utf8'), beforeOf(run).planned)
  await replaceCompose(run, target)
  return backup
}

/** Puts the former file back, byte for byte. Nothing to do where it was never exchanged. */
export async function switchBack(run: UpdateRun): Promise<void> {
  const backup = await findBackup(run)
  if (backup) await replaceCompose(run, await readFile(backup, 'utf8'))
}

/** The former images over another database volume: the way back is one rename. */
export async function switchToRestored(run: UpdateRun, volume: string): Promise<void> {
  const backup = await findBackup(run)
  if (!backup) throw problem('RESTORE_FAILED', `the backup of ${run.box.project.composeFile} is gone`)
  await replaceCompose(run, rewriteVolumes(await readFile(backup, 'utf8'), { [beforeOf(run).database.key]: volume }))
}

async function replaceCompose({ box }: UpdateRun, text: string): Promise<void> {
  if ((await readComposeText(box)) === text) return
  const { mode } = await stat(box.project.composeFile)
  await writeFileAtomic(box.project.composeFile, text, { mode: mode & 0o777 })
}

const suffixOf = ({ context }: UpdateRun) => `.${encodeURIComponent(context.commandId)}`

// Only a complete one counts: what a kill left half-written is not the former file.
async function findBackup(run: UpdateRun): Promise<string | undefined> {
  const { composeFile } = run.box.project
  const names = (await readdir(dirname(composeFile))).filter(
    (name) => name.startsWith(`${basename(composeFile)}.`) && name.endsWith(suffixOf(run)),
  )
  for (const name of names.sort()) {
    const path = join(dirname(composeFile), name)
    if (sha256Hex(await readFile(path, 'utf8')) === beforeOf(run).composeSha256) return path
  }
  return undefined
}

async function writeBackup(run: UpdateRun): Promise<string> {
  const { box, needs } = run
  const { composeFile } = box.project
  const text = await readComposeText(box)
  if (sha256Hex(text) !== beforeOf(run).composeSha256)
    throw problem('COMPOSE_INVALID', `${composeFile} was changed while the update ran; check it, then try again`)
  const path = `${composeFile}.${isoNow(needs.clock).replaceAll(':', '-')}${suffixOf(run)}`
  const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await syncFolder(dirname(path))
  return path
}
