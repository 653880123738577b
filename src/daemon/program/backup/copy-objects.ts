import { constants } from 'node:fs'
import { access, copyFile, mkdir, readdir, rename } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { syncFile } from '../../../node/index.ts'

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code

type How = Readonly<{ signal: AbortSignal; replace: boolean }>

/**
 * Copies objects, without `replace` those that are not there yet: a key is put once, so an object never changes. One that is being written has
 * another name and is left out; one that is removed meanwhile is skipped.
 */
export async function copyObjects(from: string, into: string, { signal, replace }: How): Promise<void> {
  await mkdir(into, { recursive: true, mode: 0o700 })
  for (const name of await listObjects(from)) {
    signal.throwIfAborted()
    if (replace || !(await isThere(join(into, name)))) await copyObject(join(from, name), join(into, name))
  }
}

async function copyObject(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  try {
    await copyFile(source, unfinished(target), constants.COPYFILE_FICLONE)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return
    throw error
  }
  await syncFile(unfinished(target))
  await rename(unfinished(target), target)
}

/** As the store of objects names what it has not finished. */
const unfinished = (path: string): string => `${path}.part`

/** Paths below the folder; none where it does not exist. */
export async function listObjects(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error) => {
    if (isCode(error, 'ENOENT')) return []
    throw error
  })
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.part'))
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).toSorted()
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
