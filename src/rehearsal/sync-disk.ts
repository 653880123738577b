import fs from 'node:fs'
import promises, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

// A played box reads and writes its files some hundred times. They are small and lie in memory, where an answer takes less time than sending
// the question to another thread, waking it, and waiting for it: that was most of what a rehearsal cost. The agents' code stays as it is.

type Name = Exclude<keyof typeof promises, 'constants' | 'open' | 'opendir'>
type Call = (...given: never[]) => unknown
type Content = string | NodeJS.ArrayBufferView | Iterable<string | NodeJS.ArrayBufferView> | AsyncIterable<string | NodeJS.ArrayBufferView>

/**
 * From now on what this thread asks of `node:fs/promises` is done before the call returns, and nothing is forced onto the disk; the answer
 * puts everything back. For a thread that has nothing else to do, with files that nobody needs after it.
 */
export function installSyncDisk(): () => void {
  const before = { ...promises }
  Object.assign(promises, ...atOnceNames().map((name) => ({ [name]: atOnce(name) })), {
    open: async (...given: Parameters<typeof fs.openSync>) => fileAtOnce(fs.openSync(...given)),
    writeFile: async (to: string | FileHandle, content: Content, options?: fs.WriteFileOptions) =>
      typeof to === 'object' && 'fd' in to ? writeAll(to.fd, content) : writeFileAtOnce(to, content, options),
  })
  syncBuiltinESMExports()
  return () => {
    Object.assign(promises, before)
    syncBuiltinESMExports()
  }
}

/** What exists in both ways, but for what hands out something that lives. */
const atOnceNames = (): Name[] =>
  (Object.keys(promises) as (Name | 'opendir')[]).filter((name): name is Name => name !== 'opendir' && syncOf(name) !== undefined)

const syncOf = (name: string): Call | undefined => {
  const call = fs[`${name}Sync` as keyof typeof fs] as unknown
  return typeof call === 'function' ? (call as Call) : undefined
}

/** Files that `open` gave out are given on by their number. */
const atOnce = (name: Name) => {
  const call = syncOf(name) as (...given: unknown[]) => unknown
  return async (...[first, ...others]: unknown[]) => withoutStack(() => call(isFile(first) ? first.fd : first, ...others))
}

/** A box asks again and again for files that are not there, and what is thrown then has no stack where `node:fs/promises` throws it either. */
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

const fileAtOnce = (fd: number) => ({
  fd,
  chmod: async (mode: number) => fs.fchmodSync(fd, mode),
  chown: async (uid: number, gid: number) => fs.fchownSync(fd, uid, gid),
  stat: async (options?: fs.StatOptions) => fs.fstatSync(fd, options),
  truncate: async (length?: number) => fs.ftruncateSync(fd, length),
  readFile: async (options?: BufferEncoding) => fs.readFileSync(fd, options),
  appendFile: async (content: Content) => writeAll(fd, content),
  writeFile: async (content: Content) => writeAll(fd, content),
  sync: async () => undefined,
  datasync: async () => undefined,
  close: async () => fs.closeSync(fd),
})

async function writeFileAtOnce(path: string, content: Content, options?: fs.WriteFileOptions): Promise<void> {
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
