import { chown, lstat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, problem } from '../../core/kit/index.ts'
import { type DiskSpace, reserveBytes, unreservedBytes } from '../backup/index.ts'
import type { DatabaseBackup } from '../ports/index.ts'
import { stableControl } from './control-file.ts'
import { copyLiveFolder, syncTree } from './copy-folder.ts'
import { copySegments, segmentBytesOf, segmentsBetween } from './log-segments.ts'

// A copy of the data folder of a database that runs, with all of its log up to the end of the backup: a server that starts on it recovers by itself.

/** Users are on the same disk. */
export const defaultBytesPerSecond = 64 * 1024 * 1024

/** `segment`: the first of the log that the copy does not have whole. */
export type RunningCopy = Readonly<{ bytes: number; segment: string; segmentBytes: number }>
/** Folders of the volumes, and the data folder in the first. */
type Folders = Readonly<{ from: string; into: string; data: string; backup: DatabaseBackup }>
/** `isLeftOut`: further files, by their path in the volume. */
type Copying = Readonly<{ pace(bytes: number): Promise<void>; signal: AbortSignal; isLeftOut?: (path: string) => boolean }>

/** Copies the volume while a backup is open, which stays open. */
export async function copyRunningDatabase(
  { from, into, data, backup }: Folders,
  { pace, signal, isLeftOut = () => false }: Copying,
): Promise<RunningCopy> {
  const inside = data.slice(from.length + 1)
  const isServers = leftOut(inside)
  const bytes = await copyLiveFolder(from, into, { signal, isLeftOut: (path) => isServers(path) || isLeftOut(path), pace })
  const target = join(into, inside)
  await writeAsOwner(target, join('global', 'pg_control'), await stableControl(data))
  await writeAsOwner(target, 'backup_label', await backup.finishCopy())
  const log = await copyLog({ data, target, backup }, signal)
  await syncTree(into, signal)
  return { bytes, ...log }
}

/** The running server's own files, and the log, which is copied by its segments. The folders themselves must be there. */
const emptyFolders = new Set(['pg_wal', 'pg_replslot', 'pg_stat_tmp'])
const serverFiles = new Set(['postmaster.pid', 'postmaster.opts'])

const leftOut = (dataFolder: string) => (path: string) => {
  const inData = dataFolder === '' ? path : path.startsWith(`${dataFolder}/`) ? path.slice(dataFolder.length + 1) : undefined
  if (inData === undefined) return false
  const [top = '', ...below] = inData.split('/')
  return emptyFolders.has(top) ? below.length > 0 : below.length === 0 && serverFiles.has(top)
}

/** All that is in the log now; the last segment is still written to. */
async function copyLog(
  { data, target, backup }: Readonly<{ data: string; target: string; backup: DatabaseBackup }>,
  signal: AbortSignal,
): Promise<Pick<RunningCopy, 'segment' | 'segmentBytes'>> {
  const segment = await backup.switchLog()
  const segmentBytes = await segmentBytesOf(data, backup.segment)
  const names = segmentsBetween(backup.segment, segment, segmentBytes).slice(0, -1)
  await copySegments({ from: data, into: target }, names, signal)
  return { segment, segmentBytes }
}

async function writeAsOwner(folder: string, name: string, content: string | Buffer): Promise<void> {
  const { uid, gid, mode } = await lstat(join(folder, 'PG_VERSION'))
  const path = join(folder, name)
  await writeFile(path, content, { mode: mode & 0o7777 })
  if (process.getuid?.() === 0) await chown(path, uid, gid)
}

const checkEveryBytes = 256 * 1024 * 1024

/** `folders`: on each disk that fills meanwhile. The log that the server keeps for the copy is on its own. */
type Pace = Readonly<{ commandId: string; bytesPerSecond: number; folders: readonly string[]; signal: AbortSignal }>

/** Keeps to a speed, and ends where the kept log and the copy fill the disk. */
export function paceOf(
  { clock, disk }: Readonly<{ clock: Clock; disk: DiskSpace }>,
  { commandId, bytesPerSecond, folders, signal }: Pace,
): (bytes: number) => Promise<void> {
  const wait = pacer(clock, bytesPerSecond)
  let unchecked = 0
  return async (bytes) => {
    unchecked += bytes
    if (unchecked >= checkEveryBytes) {
      unchecked = 0
      for (const folder of folders)
        if ((await unreservedBytes(disk, commandId, folder)) < reserveBytes)
          throw problem('DISK_FULL', 'the disk filled up while the database was copied')
    }
    await wait(bytes, signal)
  }
}

/** A copy must leave time for what follows it. */
export function within(
  { clock, signal }: Readonly<{ clock: Clock; signal: AbortSignal }>,
  ms: number,
): { signal: AbortSignal; end(): void } {
  const [over, late] = [new AbortController(), new AbortController()]
  void clock.sleep(ms, over.signal).then(() => {
    if (!over.signal.aborted) late.abort(problem('COMMAND_EXPIRED', 'the copy takes longer than half of the time of the command'))
  })
  return { signal: AbortSignal.any([signal, late.signal]), end: () => over.abort('ended') }
}

/** Waits once the bytes are ahead of their time. */
export function pacer(clock: Clock, bytesPerSecond: number): (bytes: number, signal: AbortSignal) => Promise<void> {
  let dueMs = clock.monotonicMs()
  return async (bytes, signal) => {
    const now = clock.monotonicMs()
    dueMs = Math.max(dueMs, now) + (bytes * 1000) / bytesPerSecond
    // A timer is not exact: shorter waits add up to the next one.
    if (dueMs - now > shortestWaitMs) await clock.sleep(dueMs - now, signal)
  }
}
const shortestWaitMs = 50
