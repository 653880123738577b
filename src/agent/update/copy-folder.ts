import { constants, type Stats } from 'node:fs'
import { chmod, chown, copyFile, type FileHandle, lstat, mkdir, open, readdir, readlink, symlink } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { syncFile, syncFolder } from '../../node/index.ts'
import { openPlainFile } from '../boxes/index.ts'

/** Files at once: enough that their fsyncs share disk writes. */
const maxConcurrent = 16

type LeaveOut = (path: string, bytes: number) => Promise<boolean>
const nothing: LeaveOut = async () => false

/**
 * Copies a folder with owners and modes into an empty one, sharing blocks where the disk can; it survives a crash of the host only after
 * `syncTree`. In this process, not by `cp`, so that the copy ends with the agent and never writes into the next agent's copy.
 */
export async function copyFolder(
  from: string,
  into: string,
  { signal, leaveOut = nothing }: Readonly<{ signal: AbortSignal; leaveOut?: LeaveOut }>,
): Promise<void> {
  const files = await copyTree({ from, into }, { signal })
  await forEach(files, { signal }, async ([source, target]) => {
    const facts = await lstat(source)
    if (await leaveOut(source, facts.size)) return
    await copyFile(source, target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
    await takeOwner(target, facts)
  })
}

type LiveCopy = Readonly<{
  signal: AbortSignal
  /** Entries whose folder stays empty, by their path in the folder. */
  isLeftOut(path: string): boolean
  /** Called before each part is written; it slows the copy down, or throws. */
  pace(bytes: number): Promise<void>
}>

/** Few at once, because users are on the same disk. */
const maxLiveConcurrent = 2
const partBytes = 1024 * 1024
/** Written to the disk this often: a commit of the server would wait behind gigabytes that the kernel writes at once. */
const syncEveryParts = 16

/**
 * Like `copyFolder`, of a folder that a server writes to: files may vanish, grow or change meanwhile, so the copy is of no single moment. Returns
 * the bytes copied.
 */
export async function copyLiveFolder(from: string, into: string, { signal, isLeftOut, pace }: LiveCopy): Promise<number> {
  let bytes = 0
  const files = await copyTree({ from, into }, { signal, isLeftOut: (path) => isLeftOut(relative(from, path)), isLive: true })
  const copy = async ([source, target]: Pair) => {
    const copied = await copyInParts({ from, path: relative(from, source) }, target, { signal, pace })
    bytes += copied
  }
  await forEach(files, { signal, concurrent: maxLiveConcurrent }, (file) => copy(file).catch(ifVanished))
  return bytes
}

type Source = Readonly<{ from: string; path: string }>

async function copyInParts({ from, path }: Source, target: string, { signal, pace }: Pick<LiveCopy, 'signal' | 'pace'>): Promise<number> {
  const input = await openPlainFile(from, path)
  try {
    const output = await open(target, 'wx')
    try {
      // The opened file: its name may vanish meanwhile, and recovery opens the copy as the server's user before it removes it again.
      await takeOwner(target, await input.stat())
      const part = Buffer.allocUnsafe(partBytes)
      for (let at = 0, parts = 1; ; parts += 1) {
        signal.throwIfAborted()
        const { bytesRead } = await input.read(part, 0, partBytes, at)
        if (bytesRead === 0) return at
        await pace(bytesRead)
        await writeAll(output, part.subarray(0, bytesRead), at)
        if (parts % syncEveryParts === 0) await output.datasync()
        at += bytesRead
      }
    } finally {
      await output.close()
    }
  } finally {
    await input.close()
  }
}

/** A disk that is nearly full takes less than it is given. */
async function writeAll(output: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; )
    written += (await output.write(bytes, written, bytes.length - written, at + written)).bytesWritten
}

function ifVanished(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/** Writes all files and folders of a tree to the disk. */
export async function syncTree(root: string, signal: AbortSignal): Promise<void> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const pathOf = ({ parentPath, name }: (typeof entries)[number]) => join(parentPath, name)
  const files = entries.filter((entry) => entry.isFile()).map(pathOf)
  await forEach(files, { signal }, syncFile)
  for (const folder of entries.filter((entry) => entry.isDirectory())) await syncFolder(pathOf(folder))
  await syncFolder(root)
}

/** The first link that leads out of the folder: a copy of the folder would share what is there with its source. */
export async function linkToOutside(root: string): Promise<string | undefined> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  for (const { parentPath, name } of entries.filter((entry) => entry.isSymbolicLink())) {
    const target = await readlink(join(parentPath, name))
    const inside = relative(root, resolve(parentPath, target))
    // An absolute path is one of the container.
    if (isAbsolute(target) || inside === '..' || inside.startsWith('../')) return relative(root, join(parentPath, name))
  }
  return undefined
}

type Each = Readonly<{ signal: AbortSignal; concurrent?: number }>

async function forEach<Item>(
  items: readonly Item[],
  { signal, concurrent = maxConcurrent }: Each,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const next = items.values()
  const work = async () => {
    for (const item of next) {
      signal.throwIfAborted()
      await act(item)
    }
  }
  await Promise.all(Array.from({ length: concurrent }, work))
}

type Pair = readonly [source: string, target: string]

type Tree = Readonly<{ from: string; into: string }>

/** `isLive`: folders below may vanish meanwhile, as those of temporary tables do. */
type TreeOptions = Readonly<{ signal: AbortSignal; isLeftOut?: (path: string) => boolean; isLive?: boolean }>

/** Makes folders and links, and returns the files to copy. */
async function copyTree({ from, into }: Tree, options: TreeOptions): Promise<Pair[]> {
  const { signal, isLeftOut, isLive = false } = options
  signal.throwIfAborted()
  const facts = await lstat(from)
  await mkdir(into, { recursive: true })
  await takeOwner(into, facts)
  const files: Pair[] = []
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(into, entry.name)]
    if (isLeftOut?.(source)) continue
    if (entry.isDirectory()) {
      const inside = copyTree({ from: source, into: target }, options)
      for (const file of (await (isLive ? inside.catch(ifVanished) : inside)) ?? []) files.push(file)
    } else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else if (entry.isFile()) files.push([source, target])
  }
  return files
}

async function takeOwner(target: string, { uid, gid, mode }: Stats): Promise<void> {
  if (process.getuid?.() === 0) await chown(target, uid, gid)
  await chmod(target, mode & 0o7777)
}
