import fs from 'node:fs'
import promises, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

// A simulated box makes some hundred small file operations on a RAM disk. There the thread pool of `node:fs/promises` costs more than the
// operations and dominated the time of a rehearsal, so this module replaces it with synchronous calls.

type Name = Exclude<keyof typeof promises, 'constants' | 'open' | 'opendir'>
type Call = (...args: never[]) => unknown
type Content = string | NodeJS.ArrayBufferView | Iterable<string | NodeJS.ArrayBufferView> | AsyncIterable<string | NodeJS.ArrayBufferView>

/**
 * Makes `node:fs/promises` of this thread synchronous and skips fsync. Returns a function that restores it. For worker threads with temporary
 * files only.
 */
export function installSyncDisk(): () => void {
  const before = { ...promises }
  Object.assign(promises, ...syncNames().map((name) => ({ [name]: makeSync(name) })), {
    open: async (...args: Parameters<typeof fs.openSync>) => syncFile(fs.openSync(...args)),
    writeFile: async (to: string | FileHandle, content: Content, options?: fs.WriteFileOptions) =>
      typeof to === 'object' && 'fd' in to ? writeAll(to.fd, content) : replaceFile(to, content, options),
  })
  syncBuiltinESMExports()
  return () => {
    Object.assign(promises, before)
    syncBuiltinESMExports()
  }
}

/** Functions with a synchronous variant; `opendir` is left out because it returns a live handle. */
const syncNames = (): Name[] =>
  (Object.keys(promises) as (Name | 'opendir')[]).filter((name): name is Name => name !== 'opendir' && syncOf(name) !== undefined)

const syncOf = (name: string): Call | undefined => {
  const call = fs[`${name}Sync` as keyof typeof fs] as unknown
  return typeof call === 'function' ? (call as Call) : undefined
}

/** Passes file handles on as file descriptors. */
const makeSync = (name: Name) => {
  const call = syncOf(name) as (...args: unknown[]) => unknown
  return async (...[first, ...others]: unknown[]) => withoutStack(() => call(isFile(first) ? first.fd : first, ...others))
}

/** Missing files are common and stack traces slow; `node:fs/promises` errors have no stack either. */
function withoutStack(call: () => unknown): unknown {
  const most = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return call()
  } finally {
    Error.stackTraceLimit = most
  }
}

const isFile = (what: unknown): what is FileHandle => typeof what === 'object' && what !== null && 'fd' in what

type Part = [buffer: Buffer, offset: number, length: number, position: number | null]

const syncFile = (fd: number) => ({
  fd,
  chmod: async (mode: number) => fs.fchmodSync(fd, mode),
  chown: async (uid: number, gid: number) => fs.fchownSync(fd, uid, gid),
  stat: async (options?: fs.StatOptions) => fs.fstatSync(fd, options),
  truncate: async (length?: number) => fs.ftruncateSync(fd, length),
  read: async (...part: Part) => ({ bytesRead: fs.readSync(fd, ...part), buffer: part[0] }),
  write: async (...part: Part) => ({ bytesWritten: fs.writeSync(fd, ...part), buffer: part[0] }),
  readFile: async (options?: BufferEncoding) => fs.readFileSync(fd, options),
  appendFile: async (content: Content) => writeAll(fd, content),
  writeFile: async (content: Content) => writeAll(fd, content),
  sync: async () => undefined,
  datasync: async () => undefined,
  close: async () => fs.closeSync(fd),
})

async function replaceFile(path: string, content: Content, options?: fs.WriteFileOptions): Promise<void> {
  if (isWhole(content)) return fs.writeFileSync(path, content, options)
  const fd = fs.openSync(path, 'w')
  try {
    await writeAll(fd, content)
  } finally {
    fs.closeSync(fd)
  }
}

async function writeAll(fd: number, content: Content): Promise<void> {
  if (isWhole(content)) return fs.writeFileSync(fd, content)
  for await (const part of content) fs.writeFileSync(fd, part)
}

const isWhole = (content: Content): content is string | NodeJS.ArrayBufferView => typeof content === 'string' || ArrayBuffer.isView(content)
