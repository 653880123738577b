import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { Checked } from './check.ts'
import { templateOf } from './template.ts'

type Created = Readonly<{ id: string; dir: string; files: readonly string[] }>

/** Writes the files of a new module. Throws ALREADY_EXISTS for a folder with files, and USAGE for a name that is not an id. */
export async function createModule(dir: string, idOption: string | undefined): Promise<Created> {
  const { ModuleId } = await import('../../core/modules/index.ts')
  const id = idOption ?? basename(resolve(dir))
  const parsed = ModuleId.safeParse(id)
  if (!parsed.success)
    throw problem('USAGE', `${id} is not a module id: it ${parsed.error.issues[0]?.message}. fix: tenantry modules init ${dir} --id <id>`)
  const present = await readdir(dir).catch(() => [])
  if (present.length > 0) throw problem('ALREADY_EXISTS', `${dir} has files. fix: use another folder, or empty this one`)
  const files = await templateOf(id)
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(dir, dirname(name)), { recursive: true })
    await writeFile(join(dir, name), content)
  }
  return { id, dir, files: Object.keys(files) }
}

type Packed = Readonly<{ file: string; bytes: number; sha256: string }>

/** Writes a package that passed its check. Throws SCAN_FAILED. */
export async function writePackage({ checked, zip, checksum, out }: Checkout): Promise<Packed> {
  if (!checked.ok) {
    const violations = checked.violations.map(
      ({ file, line, column, message }) => `${[file, line, column].filter(Boolean).join(':')} ${message}`,
    )
    throw problem('SCAN_FAILED', `The scan of ${checked.id} found forbidden code.`, { violations })
  }
  const file = out ?? `${checked.id}-${checked.version}.zip`
  await writeFile(file, zip)
  return { file, bytes: zip.length, sha256: checksum }
}

type Checkout = Readonly<{ checked: Checked; zip: Buffer; checksum: string; out: string | undefined }>
