import { constants } from 'node:fs'
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isoNow, problem, sha256Hex } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import { readComposeFile } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { ChangeRun } from './run.types.ts'

type Exchange = Pick<ChangeRun, 'deps' | 'box' | 'context'>

/** Throws COMPOSE_INVALID for a file that is not UTF-8. */
export const readComposeText = ({ project }: LocalBox): Promise<string> => readComposeFile(project.composeFile)

/** For comparisons alone. Empty for a file that is missing: a deleted file is neither the former one nor the target. */
export const presentCompose = async ({ project }: LocalBox): Promise<string> => (await readIfThere(project.composeFile)) ?? ''

/** Replaces the compose file by one rename, or makes it again. */
export async function replaceCompose({ box }: Pick<Exchange, 'box'>, text: string): Promise<void> {
  if ((await presentCompose(box)) === text) return
  const { mode } = await stat(box.project.composeFile).catch(() => ({ mode: 0o600 }))
  await writeFileAtomic(box.project.composeFile, text, { mode: mode & 0o777 })
}

/** The path of the former file, stored beside it under the command's name; made if it is missing. `sha256` is that of the former file. */
export const composeBackup = async (run: Exchange, sha256: string): Promise<string> =>
  (await findComposeBackup(run, sha256)) ?? writeBackup(run, sha256)

const suffixOf = ({ context }: Exchange) => `.${encodeURIComponent(context.commandId)}`

/** Only a complete backup counts, not one that a kill left half-written. */
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

/** The text of the former compose file: its backup, else what `derive` makes of the present file. Throws RESTORE_FAILED without either. */
export async function formerCompose(run: Exchange, sha256: string, derive: (present: string) => string = (same) => same): Promise<string> {
  const backup = await findComposeBackup(run, sha256)
  if (backup) return readFile(backup, 'utf8')
  const derived = derive(await presentCompose(run.box))
  if (sha256Hex(derived) === sha256) return derived
  const { slug, project } = run.box
  const gone = `the backup of ${project.composeFile} is gone, so the former file cannot be restored`
  throw problem('RESTORE_FAILED', `${gone}. fix: tenantry snapshots restore ${slug} --snapshot <id> --reason <why>`)
}

/** Restores the former file byte for byte, if it was replaced. Returns false without a backup, which leaves the file as it is. */
export async function restoreCompose(run: Exchange, sha256: string): Promise<boolean> {
  const backup = await findComposeBackup(run, sha256)
  if (backup) await replaceCompose(run, await readFile(backup, 'utf8'))
  return backup !== undefined
}

async function writeBackup(run: Exchange, sha256: string): Promise<string> {
  const { box, deps } = run
  const { composeFile } = box.project
  const text = await readComposeText(box)
  if (sha256Hex(text) !== sha256)
    throw problem('COMPOSE_INVALID', `${composeFile} was changed by hand meanwhile. fix: check the file, then try again`)
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
