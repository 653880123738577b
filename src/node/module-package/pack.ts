import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ZipFile } from 'yazl'
import { problem } from '../../core/kit/index.ts'
import { type PackageFile, packageLimits } from './read-archive.ts'

/** Not part of a package: hidden files, dependencies and packages made before. */
const isLeftOut = (name: string): boolean => name.startsWith('.') || name === 'node_modules' || name.endsWith('.zip')

/** The files of a module folder, by name. Throws MODULE_INVALID for links and for a folder that is too large. */
export async function readModuleFolder(folder: string): Promise<readonly PackageFile[]> {
  const files: PackageFile[] = []
  let bytes = 0
  const read = async (path: string): Promise<void> => {
    for (const entry of await entriesOf(join(folder, path))) {
      if (isLeftOut(entry.name)) continue
      const name = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) await read(name)
      else if (!entry.isFile()) throw problem('MODULE_INVALID', `${name} is a link or a special file. fix: replace it by a file`)
      else {
        const content = await readFile(join(folder, name))
        bytes += content.length
        files.push({ name, bytes: content })
      }
      if (files.length > packageLimits.files || bytes > packageLimits.contentBytes)
        throw problem(
          'MODULE_INVALID',
          `${folder} has more than ${packageLimits.files} files or 200 MB. fix: remove what the module does not use`,
        )
    }
  }
  await read('')
  return files.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const entriesOf = (folder: string) =>
  readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw problem('NOT_FOUND', `The folder ${folder} does not exist. fix: tenantry modules init <dir>`)
    if (error.code === 'ENOTDIR') throw problem('USAGE', `${folder} is not a folder. fix: pass the folder of the module`)
    throw error
  })

/** A fixed time, so that the same files make the same bytes. */
const mtime = new Date('2000-01-01T00:00:00Z')

/** The zip of these files; the same files give the same bytes. */
export async function zipOf(files: readonly PackageFile[]): Promise<Buffer> {
  const zip = new ZipFile()
  for (const { name, bytes } of files) zip.addBuffer(bytes, name, { mtime, mode: 0o100644, forceDosTimestamp: true })
  zip.end()
  const parts: Buffer[] = []
  for await (const part of zip.outputStream as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts)
}
