import { lsnText, lsnValue } from '../../core/boxes/index.ts'
import { duration, isoNow, type ProblemCode, problem, sha256Hex } from '../../core/kit/index.ts'
import { reserveBytes, unreservedBytes } from '../backup/index.ts'
import { stopAll } from '../change/index.ts'
import type { CommandContext, DatabaseBackup, LocalBox, StreamPositions } from '../ports/index.ts'
import { assertStoppedCleanly, dropColdCopy, forgetColdCopy, lastRunOf, writeMark } from './cold-copy.ts'
import { controlOf, dataFolderIn } from './control-file.ts'
import { linkToOutside } from './copy-folder.ts'
import { copyRunningDatabase, defaultBytesPerSecond, paceOf, within } from './copy-running.ts'
import { stageBoxFolder } from './dump-server.ts'
import { copySegments, segmentOf, segmentsBetween } from './log-segments.ts'
import { beforeOf, type ColdCopy, coldVolume, type HotBase, type HotCopy, isUpgrade, notUpgraded, type UpdateRun } from './update-run.ts'

// A hot copy is a backup in the sense of PostgreSQL's low-level API: the data folder as it is read while the server writes to it, and the
// write-ahead log since then. The cold copy's volume takes it, so rollback and clean-up are those of a cold copy.
// A failure never fails the update: then the snapshot is stored before the new version starts. Only an upgrade ends, where nothing has stopped yet.

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

/** Copies the database while the box serves. */
export async function makeHotCopy(run: UpdateRun): Promise<HotCopy> {
  const { notHot } = beforeOf(run)
  if (notHot !== undefined) return skipped(run, 'hot-copy', notHot)
  const { deps, payload } = run
  const begun = deps.clock.monotonicMs()
  const limit = within({ clock: deps.clock, signal: run.signal }, (payload.deadlineMs - run.elapsedMs()) / 2)
  try {
    return await copyBase({ ...run, signal: limit.signal }, begun)
  } catch (error) {
    // A passed deadline fails the step, and so does a drain.
    run.signal.throwIfAborted()
    await endBackup(run)
    await dropColdCopy(run).catch(() => undefined)
    return skipped(run, 'hot-copy', `no hot copy after ${duration(deps.clock.monotonicMs() - begun)}: ${(error as Error).message}`)
  } finally {
    limit.end()
  }
}

/** An upgrade is loaded from a copy. */
function skipped(run: UpdateRun, step: 'hot-copy' | 'cold-copy', reason: string): { skipped: string } {
  const detail = reason.slice(0, 300)
  if (isUpgrade(run) && step === 'hot-copy') throw problem('UPDATE_FAILED', notUpgraded(run, detail))
  run.context.progress({ step, detail })
  return { skipped: detail }
}

/** A server may still be ending the session of an earlier try. */
const nameOf = ({ context, facts }: UpdateRun): string =>
  `tenantry_${sha256Hex(context.commandId).slice(0, 16)}_${facts().tries['hot-copy'] ?? 0}`

async function copyBase(run: UpdateRun, begun: number): Promise<HotBase> {
  const { deps, box, context, payload, signal } = run
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
  const bytesPerSecond = payload.fence.copyBytesPerSecond ?? defaultBytesPerSecond
  const pace = paceOf(deps, { commandId: context.commandId, bytesPerSecond, folders: [from], signal })
  const copied = await copyRunningDatabase({ from, into, data, backup }, { pace, signal })
  return { ...copied, tookMs: Math.round(deps.clock.monotonicMs() - begun), fromLsn: backup.fromLsn }
}

/** Stops the database and completes the hot copy by the rest of the log. Where that is refused the snapshot comes before the new version. */
export async function completeHotCopy(run: UpdateRun): Promise<ColdCopy> {
  const base = run.evidence()['hot-copy']
  if (!base || 'skipped' in base) return skipped(run, 'cold-copy', base?.skipped ?? 'no hot copy was made')
  try {
    return await complete(run, base)
  } catch (error) {
    run.signal.throwIfAborted()
    await dropColdCopy(run).catch(() => undefined)
    return skipped(run, 'cold-copy', `the hot copy could not be completed: ${(error as Error).message}`)
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
