import { constants } from 'node:fs'
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isoNow, problem, sha256Hex } from '../../core/kit/index.ts'
import { syncFolder, writeFileAtomic } from '../../node/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { GuardedRun } from './guarded-run.ts'

type Exchange = Pick<GuardedRun, 'deps' | 'box' | 'context'>

export const readComposeText = ({ project }: LocalBox): Promise<string> => readFile(project.composeFile, 'utf8')

/** Puts a text in the place of the compose file, by one rename. */
export async function replaceCompose({ box }: Pick<Exchange, 'box'>, text: string): Promise<void> {
  if ((await readComposeText(box)) === text) return
  const { mode } = await stat(box.project.composeFile)
  await writeFileAtomic(box.project.composeFile, text, { mode: mode & 0o777 })
}

/** The former file, kept beside it under the command's name; made if it is not there. `sha256` is what the former file was. */
export const composeBackup = async (run: Exchange, sha256: string): Promise<string> =>
  (await findComposeBackup(run, sha256)) ?? writeBackup(run, sha256)

const suffixOf = ({ context }: Exchange) => `.${encodeURIComponent(context.commandId)}`

/** Only a complete one counts: what a kill left half-written is not the former file. */
async function findComposeBackup(run: Exchange, sha256: string): Promise<string | undefined> {
  const { composeFile } = run.box.project
  const names = (await readdir(dirname(composeFile))).filter(
    (name) => name.startsWith(`${basename(composeFile)}.`) && name.endsWith(suffixOf(run)),
  )
  for (const name of names.sort()) {
    const path = join(dirname(composeFile), name)
    if (sha256Hex(await readFile(path, 'utf8')) === sha256) return path
  }
  return undefined
}

/** What the compose file was. Throws RESTORE_FAILED when nobody knows any more. */
export async function formerCompose(run: Exchange, sha256: string): Promise<string> {
  const backup = await findComposeBackup(run, sha256)
  if (!backup) throw problem('RESTORE_FAILED', `the backup of ${run.box.project.composeFile} is gone`)
  return readFile(backup, 'utf8')
}

/** Puts the former file back, byte for byte. Nothing to do where it was never exchanged. */
export async function putComposeBack(run: Exchange, sha256: string): Promise<void> {
  const backup = await findComposeBackup(run, sha256)
  if (backup) await replaceCompose(run, await readFile(backup, 'utf8'))
}

async function writeBackup(run: Exchange, sha256: string): Promise<string> {
  const { box, deps } = run
  const { composeFile } = box.project
  const text = await readComposeText(box)
  if (sha256Hex(text) !== sha256) throw problem('COMPOSE_INVALID', `${composeFile} was changed meanwhile; check it, then try again`)
  const path = `${composeFile}.${isoNow(deps.clock).replaceAll(':', '-')}${suffixOf(run)}`
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
