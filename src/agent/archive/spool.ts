import { chmod, chown, copyFile, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Lsn } from '../../core/boxes/index.ts'
import { asJson, problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { openPlainFile } from '../boxes/index.ts'
import { copySegment, isUnusedSegment, segmentOf, segmentsBetween } from '../update/index.ts'

// The log of a box between its database and the store: the segments since the last window, and the written part of the one that is not full.

/** The line of an archive continues only on the same database in the same volume: a copy has other content from the same position on. */
const Line = z.object({
  line: z.string(),
  systemId: z.string(),
  timeline: z.number().int(),
  volume: z.string(),
  stored: Lsn,
  /** The position that is about to be stored, or was when the agent died. */
  storing: Lsn.optional(),
  baseAt: z.string().optional(),
})
export type Line = z.infer<typeof Line>

export type Spool = Readonly<{
  /** Stored with each part: the segments are in `wal`. */
  folder: string
  line(): Promise<Line | undefined>
  saveLine(line: Line): Promise<void>
  clear(): Promise<void>
}>

export function spoolIn(folder: string): Spool {
  const log = join(folder, 'log')
  const linePath = join(folder, 'line.json')
  return {
    folder: log,
    line: async () => Line.safeParse(asJson((await readIfThere(linePath)) ?? '')).data,
    saveLine: (line) => writeFileAtomic(linePath, `${JSON.stringify(line)}\n`),
    clear: async () => {
      await rm(linePath, { force: true })
      await rm(log, { recursive: true, force: true })
      await mkdir(join(log, 'wal'), { recursive: true, mode: 0o700 })
    },
  }
}

/** The last segment may be written to. */
const partial = '.partial'
const isSegment = (name: string): boolean => /^[0-9A-F]{24}(\.partial)?$/.test(name)

const segmentsIn = async ({ folder }: Spool): Promise<string[]> => (await readdir(join(folder, 'wal'))).filter(isSegment).sort()

export type Server = Readonly<{ dataFolder: string; timeline: number; segmentBytes: number }>

const nameOf = ({ timeline, segmentBytes }: Server, lsn: bigint): string => segmentOf({ timeline, checkpoint: lsn }, segmentBytes)

export const segmentStart = ({ segmentBytes }: Pick<Server, 'segmentBytes'>, lsn: bigint): bigint => lsn - (lsn % BigInt(segmentBytes))

/** The start of a segment. */
function startOf({ segmentBytes }: Server, name: string): bigint {
  const perFile = 0x1_0000_0000n / BigInt(segmentBytes)
  return (BigInt(`0x${name.slice(8, 16)}`) * perFile + BigInt(`0x${name.slice(16, 24)}`)) * BigInt(segmentBytes)
}

/** The position of the log that must be copied next; undefined where the spool has no segment. */
export async function nextPosition(spool: Spool, server: Server): Promise<bigint | undefined> {
  const last = (await segmentsIn(spool)).at(-1)
  if (last === undefined) return undefined
  return startOf(server, last) + (last.endsWith(partial) ? 0n : BigInt(server.segmentBytes))
}

/** The position from which on the spool has all log. */
export async function firstPosition(spool: Spool, server: Server): Promise<bigint | undefined> {
  const first = (await segmentsIn(spool))[0]
  return first === undefined ? undefined : startOf(server, first)
}

export async function isThere(server: Server, lsn: bigint): Promise<boolean> {
  const path = join(server.dataFolder, 'pg_wal', nameOf(server, lsn))
  const facts = await lstat(path).catch(() => undefined)
  return facts !== undefined && !(await isUnusedSegment(path, facts.size))
}

/** Whether the database still has the log that the spool has of its last segment, up to a position. True where one of them has none. */
export async function hasSameLog(spool: Spool, server: Server, until: bigint): Promise<boolean> {
  const last = (await segmentsIn(spool)).at(-1)
  if (last === undefined) return true
  const bytes = Number(until - startOf(server, last))
  const name = last.replace(partial, '')
  if (bytes <= 0 || !(await isThere(server, startOf(server, last)))) return true
  const beginning = (content: Buffer) => content.subarray(0, Math.min(bytes, server.segmentBytes))
  const own = beginning(await readFile(join(spool.folder, 'wal', last)))
  const file = await openPlainFile(server.dataFolder, join('pg_wal', name))
  const now = beginning(await file.readFile().finally(() => file.close()))
  return own.equals(now)
}

type Range = Readonly<{ from: bigint; to: bigint; signal: AbortSignal }>

/** Copies the log from a segment's start up to a position that is on the disk. Throws SNAPSHOT_FAILED for log that is gone. */
export async function copyLog(spool: Spool, server: Server, { from, to, signal }: Range): Promise<void> {
  if (from >= to) return
  for (const name of segmentsBetween(nameOf(server, from), nameOf(server, to - 1n), server.segmentBytes)) {
    signal.throwIfAborted()
    const start = startOf(server, name)
    if (!(await isThere(server, start)))
      throw problem('SNAPSHOT_FAILED', `PostgreSQL has removed the segment ${name} of its write-ahead log`)
    const source = { from: server.dataFolder, name }
    const target = join(spool.folder, 'wal', name)
    if (start + BigInt(server.segmentBytes) <= to) {
      await copySegment(source, `${target}.new`)
      await chmod(`${target}.new`, 0o600)
      await rename(`${target}.new`, target)
      await rm(`${target}${partial}`, { force: true })
    } else await copyBeginning(source, `${target}${partial}`, { bytes: Number(to - start), size: server.segmentBytes })
  }
}

/** The rest is zeros: PostgreSQL may be writing there, and leaves what an older segment had. */
async function copyBeginning(
  { from, name }: Readonly<{ from: string; name: string }>,
  target: string,
  { bytes, size }: Readonly<{ bytes: number; size: number }>,
): Promise<void> {
  const [input, output] = [await openPlainFile(from, join('pg_wal', name)), await open(target, 'w', 0o600)]
  try {
    const content = Buffer.alloc(bytes)
    const { bytesRead } = await input.read(content, 0, bytes, 0)
    if (bytesRead < bytes) throw problem('SNAPSHOT_FAILED', `the segment ${name} in ${from} is shorter than its log`)
    await output.write(content, 0, bytes, 0)
    await output.truncate(size)
  } finally {
    await Promise.all([input.close(), output.close()])
  }
}

/** Begins a new window: full segments are in the store. */
export async function dropStored(spool: Spool): Promise<void> {
  for (const name of await segmentsIn(spool)) if (!name.endsWith(partial)) await rm(join(spool.folder, 'wal', name))
}

/** Puts the segments of a part into a data folder; a later part has more of the last segment. */
export async function putSegments(from: string, dataFolder: string, owner: Readonly<{ uid: number; gid: number }>): Promise<void> {
  for (const name of (await readdir(from)).filter(isSegment).sort()) {
    const target = join(dataFolder, 'pg_wal', name.replace(partial, ''))
    await copyFile(join(from, name), target)
    await takeOwner(target, { ...owner, mode: 0o600 })
  }
}

type Owner = Readonly<{ uid: number; gid: number; mode: number }>

export async function takeOwner(path: string, { uid, gid, mode }: Owner): Promise<void> {
  if (process.getuid?.() === 0) await chown(path, uid, gid)
  await chmod(path, mode)
}
