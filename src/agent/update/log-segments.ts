import { chmod, chown, copyFile, lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { contentPath, openPlainFile } from '../boxes/index.ts'
import type { ControlFile } from './control-file.ts'
import { isUnusedSegment } from './unused-wal.ts'

// The write-ahead log is a row of files of one size, named after timeline and position.

const hex = (value: bigint): string => value.toString(16).toUpperCase().padStart(8, '0')

/** The segment of a position. */
export const segmentOf = ({ timeline, checkpoint }: Pick<ControlFile, 'timeline' | 'checkpoint'>, segmentBytes: number): string =>
  hex(BigInt(timeline)) + hex(checkpoint >> 32n) + hex((checkpoint & 0xffffffffn) / BigInt(segmentBytes))

const numberOf = (name: string, segmentBytes: number): bigint =>
  BigInt(`0x${name.slice(8, 16)}`) * (0x1_0000_0000n / BigInt(segmentBytes)) + BigInt(`0x${name.slice(16)}`)

/** Where a segment begins. */
export const startOfSegment = (name: string, segmentBytes: number): bigint => numberOf(name, segmentBytes) * BigInt(segmentBytes)

/** All segments from one to another, both included. Throws CONFLICT where they are on different timelines. */
export function segmentsBetween(first: string, last: string, segmentBytes: number): string[] {
  if (first.slice(0, 8) !== last.slice(0, 8))
    throw problem('CONFLICT', `the write-ahead log changed its timeline between ${first} and ${last}`)
  const perFile = 0x1_0000_0000n / BigInt(segmentBytes)
  const from = numberOf(first, segmentBytes)
  const count = Number(numberOf(last, segmentBytes) - from) + 1
  return Array.from({ length: Math.max(0, count) }, (_, index) => {
    const number = from + BigInt(index)
    return first.slice(0, 8) + hex(number / perFile) + hex(number % perFile)
  })
}

type Folders = Readonly<{ from: string; into: string }>

/** Copies segments from one data folder to another. Throws CONFLICT for one that the server has removed or reused. */
export async function copySegments({ from, into }: Folders, names: readonly string[], signal: AbortSignal): Promise<void> {
  const owner = await lstat(join(into, 'PG_VERSION'))
  for (const name of names) {
    signal.throwIfAborted()
    const [source, target] = [join(from, 'pg_wal', name), join(into, 'pg_wal', name)]
    const found = await lstat(source).catch(() => undefined)
    if (found && !found.isFile()) throw problem('CONFLICT', `${source} is no file`)
    if (found === undefined || (await isUnusedSegment(source, found.size)))
      throw problem('CONFLICT', `PostgreSQL has removed the segment ${name} of its write-ahead log`)
    await copySegment({ from, name }, target)
    if (process.getuid?.() === 0) await chown(target, owner.uid, owner.gid)
    await chmod(target, owner.mode & 0o7777)
  }
}

/** Copies a segment of a running server. Throws ENOENT, and FOLDER_UNSAFE for what is not in its data folder. */
export async function copySegment({ from, name }: Readonly<{ from: string; name: string }>, target: string): Promise<void> {
  const file = await openPlainFile(from, join('pg_wal', name))
  try {
    await copyFile(contentPath(file), target)
  } finally {
    await file.close()
  }
}

export const segmentBytesOf = async (folder: string, name: string): Promise<number> => (await lstat(join(folder, 'pg_wal', name))).size
