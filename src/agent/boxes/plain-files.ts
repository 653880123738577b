import { createHash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, opendir, readdir, readlink, realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { isProblem, notUtf8, type Problem, problem, utf8Text } from '../../core/kit/index.ts'

// Reads files that another host or a container wrote. A link in them could name any file of this host.

const maxBytes = 1_000_000

/** Text of a file below a folder; undefined if it is missing. Throws FOLDER_UNSAFE for a link, a special or large file, and one that is not UTF-8. */
export async function readPlainFile(folder: string, path: string): Promise<string | undefined> {
  const facts = await plainPath(folder, path)
  if (!facts) return undefined
  if (!facts.isFile()) throw unsafe(folder, path, 'is not a regular file')
  if (facts.nlink > 1) throw unsafe(folder, path, 'is a hard link')
  if (facts.size > maxBytes) throw unsafe(folder, path, `has ${facts.size} bytes; the maximum is ${maxBytes}`)
  const file = await open(join(folder, path), constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const bytes = await file.readFile()
    const text = utf8Text(bytes)
    if (text === undefined) throw problem('FOLDER_UNSAFE', `${join(folder, path)}: ${notUtf8(bytes)}`)
    return text
  } finally {
    await file.close()
  }
}

/**
 * Opens a file below the folder of a volume. A container that runs may put a link, or a pipe, in place of it or of a folder above it at any moment:
 * only the opened file counts, and it is below the folder. Throws ENOENT, and FOLDER_UNSAFE for anything else.
 */
export async function openPlainFile(folder: string, path: string): Promise<FileHandle> {
  // A pipe would be waited for.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(join(folder, path), flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOOP') throw unsafe(folder, path, 'is a symbolic link')
    if (error.code === 'ENXIO') throw unsafe(folder, path, 'is not a regular file')
    throw error
  })
  try {
    if (!(await file.stat()).isFile()) throw unsafe(folder, path, 'is not a regular file')
    const [place, root] = await Promise.all([readlink(contentPath(file)), realpath(folder)])
    if (relative(root, place).split('/')[0] === '..') throw unsafe(folder, path, 'is behind a symbolic link')
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** The path of an opened file, whatever became of its name. */
export const contentPath = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}`

/** The first bytes of such a file: what it names may have no end. Throws as `openPlainFile`. */
export async function readBeginning(folder: string, path: string, maxBytes: number): Promise<Buffer> {
  const file = await openPlainFile(folder, path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Size and SHA-256 of a file of any size below a folder; undefined if it is missing, `special` for anything else. */
export async function sumPlainFile(
  folder: string,
  path: string,
  signal?: AbortSignal,
): Promise<Readonly<{ bytes: number; sha256: string }> | 'special' | undefined> {
  const facts = await plainPath(folder, path).catch((error) => {
    if (isProblem(error, 'FOLDER_UNSAFE')) return 'special' as const
    throw error
  })
  if (facts === undefined || facts === 'special') return facts
  if (!facts.isFile()) return 'special'
  const file = await open(join(folder, path), constants.O_RDONLY | constants.O_NOFOLLOW)
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of file.createReadStream(signal ? { signal } : {})) {
    bytes += (chunk as Buffer).length
    hash.update(chunk as Buffer)
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** Names in a folder below a folder; none if it is missing. Throws FOLDER_UNSAFE if it is reached through a link. */
export async function listPlainFolder(folder: string, path: string): Promise<string[]> {
  const facts = await plainPath(folder, path)
  if (!facts) return []
  if (!facts.isDirectory()) throw unsafe(folder, path, 'is not a folder')
  return (await readdir(join(folder, path))).sort()
}

/** Throws FOLDER_UNSAFE if anything on the way to a path below a folder is a link; missing parts are fine. */
export const assertNoLinks = async (folder: string, path: string): Promise<void> => void (await plainPath(folder, path))

/**
 * Throws FOLDER_UNSAFE if anything below the folder is a link or a special file: what is read from it or written into it would go through it to any
 * file of this host.
 */
export async function assertOnlyFiles(folder: string): Promise<void> {
  for await (const one of await opendir(folder, { recursive: true })) {
    if (one.isFile() || one.isDirectory()) continue
    throw unsafe(
      folder,
      relative(folder, join(one.parentPath, one.name)),
      one.isSymbolicLink() ? 'is a symbolic link' : 'is a special file',
    )
  }
}

/** Facts of a path below a folder; undefined if it is missing. */
async function plainPath(folder: string, path: string): Promise<Stats | undefined> {
  const parts = path.split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) throw unsafe(folder, path, 'is outside the folder')
  let facts: Stats | undefined
  for (let depth = 1; depth <= parts.length; depth++) {
    const here = parts.slice(0, depth).join('/')
    facts = await lstat(join(folder, here)).catch(ifMissing)
    if (!facts) return undefined
    if (facts.isSymbolicLink()) throw unsafe(folder, here, 'is a symbolic link')
  }
  return facts
}

const ifMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
  throw error
}

const unsafe = (folder: string, path: string, reason: string): Problem =>
  problem('FOLDER_UNSAFE', `${join(folder, path)} ${reason}. fix: replace it with a regular file or folder of the box`)
