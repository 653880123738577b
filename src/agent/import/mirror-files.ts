import { constants, type Stats } from 'node:fs'
import { chmod, chown, copyFile, type FileHandle, link, lstat, mkdir, readdir, rename, rm, utimes } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { contentPath, openPlainFile } from '../boxes/index.ts'

/** User id and group id of the chat server in the box template. */
const chatUser = { uid: 991, gid: 991 }

type Mirror = Readonly<{
  /** Folders of the stack, with their place in the target. */
  sources: readonly Readonly<{ from: string; inside: string }>[]
  into: string
  /** Media: files that never change once they are written may share their blocks, and belong to the box's chat server. */
  isMedia: boolean
  /** Folders at the top that stay behind. */
  leaveOut?: readonly string[]
  signal: AbortSignal
}>

export type Mirrored = Readonly<{ linked: number; copied: number }>

/**
 * Makes a folder like those of the stack, without a change of theirs. It may run again and then takes only what is new: a file that vanished
 * there vanishes here. A shared file is never changed here: where its owner or mode would have to be, it is copied. Throws FOLDER_UNSAFE for a
 * symbolic link: what it names would be left behind, or a running container of the stack would show any file of the host.
 */
export async function mirrorFiles({ sources, into, isMedia, leaveOut = [], signal }: Mirror): Promise<Mirrored> {
  const count = { linked: 0, copied: 0 }
  const present = new Set<string>()
  const owner = isMedia ? chatUser : undefined
  for (const { from, inside } of sources)
    for (const path of await filesIn(from, { signal, skip: (below) => leaveOut.includes(join(inside, below).split('/')[0] as string) })) {
      const at = join(inside, path)
      const facts = await lstat(join(from, path)).catch(ifGone)
      if (!facts?.isFile()) continue
      signal.throwIfAborted()
      await makeFolders({ from, into, inside }, dirname(path), owner)
      const isShared = isMedia && facts.uid === chatUser.uid && facts.gid === chatUser.gid && (facts.mode & constants.S_IRUSR) !== 0
      const result = await putFile({ from, path, target: join(into, at) }, facts, { isShared, owner })
      if (result === undefined) continue
      count[result] += 1
      present.add(at)
    }
  for (const path of await filesIn(into, { signal, skip: () => false })) if (!present.has(path)) await rm(join(into, path), { force: true })
  return count
}

type Walk = Readonly<{ signal: AbortSignal; skip: (below: string) => boolean }>

async function filesIn(folder: string, { signal, skip }: Walk): Promise<string[]> {
  const found: string[] = []
  const walk = async (below: string): Promise<void> => {
    signal.throwIfAborted()
    const entries = (await readdir(join(folder, below), { withFileTypes: true }).catch(ifGone)) ?? []
    for (const entry of entries) {
      const path = join(below, entry.name)
      if (skip(path)) continue
      if (entry.isSymbolicLink())
        throw problem('FOLDER_UNSAFE', `${join(folder, path)} is a symbolic link. fix: replace it by what it names, or mount that there`)
      if (entry.isDirectory()) await walk(path)
      else if (entry.isFile()) found.push(path)
    }
  }
  await walk('')
  return found
}

function ifGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

type Owner = Readonly<{ uid: number; gid: number }> | undefined
type Tree = Readonly<{ from: string; into: string; inside: string }>

/** Makes what is missing on the way; folders of an object store keep their owner and mode. */
async function makeFolders({ from, into, inside }: Tree, below: string, owner: Owner): Promise<void> {
  const names = join(inside, below)
    .split('/')
    .filter((name) => name !== '.' && name !== '')
  for (let depth = 1; depth <= names.length; depth++) {
    const path = names.slice(0, depth).join('/')
    const target = join(into, path)
    if (await lstat(target).catch(ifGone)) continue
    await mkdir(target)
    const source = owner ? undefined : await lstat(join(from, relative(inside, path)))
    const { uid, gid } = owner ?? (source as Stats)
    if (process.getuid?.() === 0) await chown(target, uid, gid)
    await chmod(target, source ? source.mode & 0o7777 : 0o755)
  }
}

/** A time that was set is exact to about a microsecond, whatever the file system stores. */
const timePrecisionMs = 0.01

type Pair = Readonly<{ from: string; path: string; target: string }>

/** A file that vanished meanwhile is undefined. */
async function putFile(
  pair: Pair,
  facts: Stats,
  { isShared, owner }: Readonly<{ isShared: boolean; owner: Owner }>,
): Promise<keyof Mirrored | undefined> {
  const { from, path, target } = pair
  const former = await lstat(target).catch(ifGone)
  if (former && former.ino === facts.ino && former.dev === facts.dev) return 'linked'
  if (former && former.size === facts.size && Math.abs(former.mtimeMs - facts.mtimeMs) < timePrecisionMs) return 'copied'
  if (former) await rm(target, { force: true })
  const file = await openPlainFile(from, path).catch(ifGone)
  if (!file) return undefined
  try {
    if (isShared) {
      const linked = await linkOf(pair, file)
      if (linked !== false) return linked && 'linked'
    }
    await copyOf(file, target, owner)
    return 'copied'
  } finally {
    await file.close()
  }
}

/** False where it cannot be shared. Undefined for another file than the opened one. */
async function linkOf({ from, path, target }: Pair, file: FileHandle): Promise<boolean | undefined> {
  try {
    await link(join(from, path), target)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    // Another file system, or a bind mount in between; too many links; links of others' files that are forbidden.
    if (['EXDEV', 'EMLINK', 'EPERM', 'ENOTSUP'].includes(code)) return false
    if (code === 'ENOENT') return undefined
    throw error
  }
  const [made, opened] = await Promise.all([lstat(target), file.stat()])
  if (made.ino === opened.ino && made.dev === opened.dev) return true
  await rm(target, { force: true })
  return undefined
}

/** Complete under its name, or not there: a copy that was cut off never counts as one. */
async function copyOf(file: FileHandle, target: string, owner: Owner): Promise<void> {
  const part = `${target}.tenantry-part`
  const facts = await file.stat()
  try {
    await copyFile(contentPath(file), part, constants.COPYFILE_FICLONE)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  const { uid, gid } = owner ?? facts
  if (process.getuid?.() === 0) await chown(part, uid, gid)
  await chmod(part, owner ? 0o644 : facts.mode & 0o7777)
  await utimes(part, facts.atimeMs / 1000, facts.mtimeMs / 1000)
  await rename(part, target)
}
