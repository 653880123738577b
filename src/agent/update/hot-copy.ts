import { chown, lstat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lsnText, lsnValue } from '../../core/boxes/index.ts'
import { type Clock, duration, isoNow, type ProblemCode, problem, sha256Hex } from '../../core/kit/index.ts'
import { reserveBytes, unreservedBytes } from '../backup/index.ts'
import { stopAll } from '../change/index.ts'
import type { CommandContext, DatabaseBackup, LocalBox, StreamPositions } from '../ports/index.ts'
import { assertStoppedCleanly, copyToDump, dropColdCopy, forgetColdCopy, lastRunOf, writeMark } from './cold-copy.ts'
import { controlOf, dataFolderIn, stableControl } from './control-file.ts'
import { copyLiveFolder, linkToOutside, syncTree } from './copy-folder.ts'
import { stageBoxFolder } from './dump-server.ts'
import { copySegments, segmentBytesOf, segmentOf, segmentsBetween } from './log-segments.ts'
import { beforeOf, type ColdCopy, coldVolume, type HotBase, type HotCopy, type UpdateRun } from './update-run.ts'

// A hot copy is a backup in the sense of PostgreSQL's low-level API: the data folder as it is read while the server writes to it, and the
// write-ahead log since then. The cold copy's volume takes it, so dump, rollback and clean-up are those of a cold copy.
// A failure never fails the update: then the stopped database is copied as a whole.

/**
 * The open backup of a command. Its session keeps the log until the database stops; it is lost with the agent, and then a log that the server
 * has removed meanwhile is noticed.
 */
const backups = new WeakMap<CommandContext, DatabaseBackup>()

export const isBackupOpen = ({ context }: Pick<UpdateRun, 'context'>): boolean => backups.has(context)

export async function endBackup({ context }: Pick<UpdateRun, 'context'>): Promise<void> {
  const backup = backups.get(context)
  backups.delete(context)
  await backup?.end()
}

/** Users are on the same disk. */
const defaultBytesPerSecond = 64 * 1024 * 1024

/** Copies the database while the box serves. */
export async function makeHotCopy(run: UpdateRun): Promise<HotCopy> {
  const { notHot } = beforeOf(run)
  if (notHot !== undefined) return skipped(run, notHot)
  const { deps, payload } = run
  const begun = deps.clock.monotonicMs()
  const limit = within(run, (payload.deadlineMs - run.elapsedMs()) / 2)
  try {
    return await copyBase({ ...run, signal: limit.signal }, begun)
  } catch (error) {
    // A passed deadline fails the step, and so does a drain.
    run.signal.throwIfAborted()
    await endBackup(run)
    await dropColdCopy(run).catch(() => undefined)
    return skipped(run, `no hot copy after ${duration(deps.clock.monotonicMs() - begun)}: ${(error as Error).message}`)
  } finally {
    limit.end()
  }
}

function skipped({ context }: UpdateRun, reason: string): { skipped: string } {
  const detail = reason.slice(0, 300)
  context.progress({ step: 'hot-copy', detail })
  return { skipped: detail }
}

/** A copy must leave time for the update. */
function within({ deps, signal }: UpdateRun, ms: number): { signal: AbortSignal; end(): void } {
  const [over, late] = [new AbortController(), new AbortController()]
  void deps.clock.sleep(ms, over.signal).then(() => {
    if (!over.signal.aborted) late.abort(problem('COMMAND_EXPIRED', 'the copy takes longer than half of the time of the update'))
  })
  return { signal: AbortSignal.any([signal, late.signal]), end: () => over.abort('ended') }
}

/** A server may still be ending the session of an earlier try. */
const nameOf = ({ context, facts }: UpdateRun): string =>
  `tenantry_${sha256Hex(context.commandId).slice(0, 16)}_${facts().tries['hot-copy'] ?? 0}`

async function copyBase(run: UpdateRun, begun: number): Promise<HotBase> {
  const { deps, box, context, signal } = run
  const { database, systemId } = beforeOf(run)
  // An interrupted try may have left both.
  await endBackup(run)
  await dropColdCopy(run)
  const from = await deps.engine.volumePath(database.volume)
  if (from === undefined) throw problem('CONFLICT', `the folder of ${database.volume} is not accessible`)
  const used = await deps.disk.usedBytes(from)
  // A later load of the dump must still have space.
  if ((await unreservedBytes(deps.disk, context.commandId, from)) < 2 * used + reserveBytes)
    throw problem('DISK_FULL', 'not enough disk space for a copy of the database')
  const outside = await linkToOutside(from)
  if (outside !== undefined) throw problem('CONFLICT', `${outside} in ${database.volume} is a link out of the volume`)
  const data = await dataFolderIn(from, systemId)
  await deps.engine.createVolume(box.project, database.key, coldVolume(run))
  const into = await deps.engine.volumePath(coldVolume(run))
  if (into === undefined) throw problem('CONFLICT', `the folder of ${coldVolume(run)} is not accessible`)
  const backup = await deps.servers.beginBackup(box, nameOf(run), context.signal)
  backups.set(context, backup)
  const inside = data.slice(from.length + 1)
  const bytes = await copyLiveFolder(from, into, { signal, isLeftOut: leftOut(inside), pace: paceOf(run, from) })
  const target = join(into, inside)
  await writeAsOwner(target, join('global', 'pg_control'), await stableControl(data))
  await writeAsOwner(target, 'backup_label', await backup.finishCopy())
  const log = await copyLog(run, { data, target, backup })
  await syncTree(into, signal)
  return { bytes, tookMs: Math.round(deps.clock.monotonicMs() - begun), fromLsn: backup.fromLsn, ...log }
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

/** All that is in the log now: what is copied here is not copied while the box is stopped. The last segment is still written to. */
async function copyLog(
  { signal }: UpdateRun,
  { data, target, backup }: Readonly<{ data: string; target: string; backup: DatabaseBackup }>,
): Promise<Pick<HotBase, 'segment' | 'segmentBytes'>> {
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

/** Keeps to the speed of the order, and ends where the kept log and the copy fill the disk. */
function paceOf({ deps, context, payload, signal }: UpdateRun, folder: string): (bytes: number) => Promise<void> {
  const wait = pacer(deps.clock, payload.fence.copyBytesPerSecond ?? defaultBytesPerSecond)
  let unchecked = 0
  return async (bytes) => {
    unchecked += bytes
    if (unchecked >= checkEveryBytes) {
      unchecked = 0
      if ((await unreservedBytes(deps.disk, context.commandId, folder)) < reserveBytes)
        throw problem('DISK_FULL', 'the disk filled up while the database was copied')
    }
    await wait(bytes, signal)
  }
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

/** Stops the database and completes the hot copy by the rest of the log. Where that is refused the whole database is copied instead. */
export async function completeHotCopy(run: UpdateRun): Promise<ColdCopy> {
  const base = run.evidence()['hot-copy']
  if (!base || 'skipped' in base) return { ...(await copyToDump(run)), notHot: base?.skipped ?? 'no hot copy was made' }
  try {
    return await complete(run, base)
  } catch (error) {
    run.signal.throwIfAborted()
    const notHot = `the hot copy could not be completed: ${(error as Error).message}`.slice(0, 300)
    run.context.progress({ step: 'cold-copy', detail: notHot })
    return { ...(await copyToDump(run)), notHot }
  } finally {
    await endBackup(run)
  }
}

async function complete(run: UpdateRun, { segment, segmentBytes }: HotBase): Promise<ColdCopy> {
  const { deps, context, signal } = run
  const begun = deps.clock.monotonicMs()
  const { database, systemId } = beforeOf(run)
  await forgetColdCopy(run)
  const at = isoNow(deps.clock)
  const [from, into] = await Promise.all([dataFolderOf(run, database.volume, systemId), dataFolderOf(run, coldVolume(run), systemId)])
  const copy = async (names: readonly string[]) => copySegments({ from, into }, names, signal)
  // The shutdown lets go of the log up to its own checkpoint. So all of it is copied before, but for a segment that has just begun.
  const [next, positions] = await Promise.all([
    backups
      .get(context)
      ?.switchLog()
      .catch(() => undefined),
    // An agent that was killed after the stop finds no server that answers.
    deps.servers.streamPositions(run.box, signal).catch(() => undefined),
  ])
  if (next !== undefined) await copy(segmentsBetween(segment, next, segmentBytes).slice(0, -1))
  await stopAll(run)
  await assertStoppedCleanly(run)
  const lastRun = await lastRunOf(run)
  const control = await controlOf(from)
  if (!control.isShutDown) throw problem('CONFLICT', 'the database has no shutdown checkpoint')
  await copy(segmentsBetween(next ?? segment, segmentOf(control, segmentBytes), segmentBytes))
  await stageBoxFolder(run)
  if (lastRun === undefined || (await lastRunOf(run)) !== lastRun) throw problem('CONFLICT', 'the database was started while it was copied')
  await writeMark(run)
  const facts = { at, endLsn: lsnText(control.checkpoint), ...(positions === undefined ? {} : { positions }) }
  return { copiedMs: deps.clock.monotonicMs() - begun, ...facts }
}

async function dataFolderOf(run: UpdateRun, volume: string, systemId: string | undefined): Promise<string> {
  const root = await run.deps.engine.volumePath(volume)
  if (root === undefined) throw problem('CONFLICT', `the folder of ${volume} is not accessible`)
  return dataFolderIn(root, systemId)
}

type Recovered = Readonly<{ code: ProblemCode; database: LocalBox }>

/**
 * Throws `code` unless the server on a hot copy has recovered to the end: its first checkpoint is behind the shutdown checkpoint of the box, and
 * its streams are where the chat server left them.
 */
export async function assertRecovered(run: UpdateRun, { code, database }: Recovered): Promise<void> {
  const { endLsn, positions } = run.evidence()['cold-copy'] ?? {}
  if (endLsn === undefined) return
  const { redo } = await controlOf(await dataFolderOf(run, coldVolume(run), beforeOf(run).systemId))
  if (redo <= lsnValue(endLsn))
    throw problem(code, `the copy of ${run.box.slug} recovered to ${lsnText(redo)}, and the database had written up to ${endLsn}`)
  const differing = positions && firstDifference(positions, await run.deps.servers.streamPositions(database, run.signal))
  if (differing !== undefined) throw problem(code, `the copy of ${run.box.slug} differs from the database: ${differing}`)
}

/** Recovery takes a sequence up to 32 values further: PostgreSQL logs that many in advance. */
export function firstDifference(left: StreamPositions, copied: StreamPositions): string | undefined {
  const sequence = Object.entries(left.sequences).find(([name, value]) => (copied.sequences[name] ?? -1) < value)
  if (sequence) return `the sequence ${sequence[0]} is at ${copied.sequences[sequence[0]] ?? 'no value'} instead of ${sequence[1]}`
  const key = ({ stream, instance }: StreamPositions['writers'][number]) => `${stream} ${instance}`
  const writers = new Map(copied.writers.map((writer) => [key(writer), writer.position]))
  const writer = left.writers.find((one) => writers.get(key(one)) !== one.position)
  return writer && `the stream ${key(writer)} is at ${writers.get(key(writer)) ?? 'no position'} instead of ${writer.position}`
}
