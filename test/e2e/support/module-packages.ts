import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Simulated } from './simulated-tenants.ts'

// Modules on their way into the store, by the commands that an author and a reviewer type.

type Changed = Readonly<{ manifest?: object; files?: Readonly<Record<string, string>> }>

/** `modules init`, and changes that an author makes: `manifest` by field, `files` by name. Returns the folder. */
export async function authored({ folder, must }: Simulated, id: string, { manifest = {}, files = {} }: Changed = {}): Promise<string> {
  const dir = join(folder, id)
  await must('anna', 'modules', 'init', dir)
  const file = join(dir, 'module.json')
  const before = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...before, ...manifest }, null, 2))
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  return dir
}

/** Packs a folder and submits it as the registered developer anna. Returns the id of the submission. */
export async function submitted({ folder, must }: Simulated, dir: string): Promise<string> {
  const out = join(folder, 'package.zip')
  await must('anna', 'modules', 'pack', dir, '--out', out)
  return (await must('anna', 'modules', 'submit', out, '--json')).json<{ submissionId: string }>().submissionId
}

export async function approved(simulated: Simulated, dir: string): Promise<void> {
  await simulated.must('root', 'reviews', 'approve', await submitted(simulated, dir))
}
