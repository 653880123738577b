import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { asJson, duration, problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { reserveBytes, unreservedBytes } from '../backup/index.ts'
import { isAlive, stopAll } from '../change/index.ts'
import { copyFolder, linkToOutside, syncTree } from './copy-folder.ts'
import { stagedFolder, stopDumpServer } from './dump-server.ts'
import { isUnusedSegment } from './unused-wal.ts'
import { beforeOf, type ColdCopy, coldVolume, copiedFolder, isHot, storedSnapshot, storesFromCopy, type UpdateRun } from './update-run.ts'

/** Written last: without it the copy is not complete. `isSynced`: the copy also survives a crash of the host. */
const Mark = z.object({ volume: z.string(), bootId: z.string(), isSynced: z.boolean().optional() })
type Mark = z.infer<typeof Mark>

const markOf = (run: UpdateRun): string => join(copiedFolder(run), 'mark.json')
export const writeMark = async (run: UpdateRun, facts: Partial<Mark> = {}): Promise<void> =>
  writeFileAtomic(markOf(run), `${JSON.stringify({ volume: coldVolume(run), bootId: await bootId(), ...facts } satisfies Mark)}\n`)

/** Changes with each start of the host. */
const bootId = async (): Promise<string> => (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()

/**
 * The fast rollback: copies the database volume while nothing runs, into the volume of the first restore try. It only saves time, so a failure is
 * reported and never fails the update. PostgreSQL stays stopped.
 */
export async function makeColdCopy(run: UpdateRun): Promise<ColdCopy> {
  const { deps, signal } = run
  const begun = deps.clock.monotonicMs()
  try {
    await stopAll(run)
    const reason = await copyVolume(run)
    if (reason !== undefined) return skipped(run, reason)
    await writeMark(run)
    return { copiedMs: deps.clock.monotonicMs() - begun }
  } catch (error) {
    // A passed deadline fails the step, and so does a drain.
    signal.throwIfAborted()
    await dropColdCopy(run).catch(() => undefined)
    return skipped(run, `no cold copy after ${duration(deps.clock.monotonicMs() - begun)}: ${(error as Error).message}`)
  }
}

/** With `before` the copy is made with the snapshot, or here where it was not. */
export const coldCopy = async (run: UpdateRun): Promise<ColdCopy> => storedSnapshot(run)?.copy ?? makeColdCopy(run)

/** The log of a database that was killed must be replayed, which only a full start proves to work. */
export async function assertStoppedCleanly({ deps, box }: UpdateRun): Promise<void> {
  const database = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  if (database?.exitCode !== 0)
    throw problem('CONFLICT', `the database of ${box.slug} did not shut down cleanly (exit code ${database?.exitCode ?? 'unknown'})`)
}

function skipped({ context }: UpdateRun, reason: string): ColdCopy {
  const detail = reason.slice(0, 300)
  context.progress({ step: 'cold-copy', detail })
  return { skipped: detail }
}

/** Returns the reason if no copy was made. */
async function copyVolume(run: UpdateRun): Promise<string | undefined> {
  const { deps, box, context, signal } = run
  const { database } = beforeOf(run)
  const volume = coldVolume(run)
  const lastRun = await lastRunOf(run)
  await dropColdCopy(run)
  const from = await deps.engine.volumePath(database.volume)
  if (from === undefined) return `the folder of ${database.volume} is not accessible`
  // A later load of the dump must still have space.
  const used = await deps.disk.usedBytes(from)
  if ((await unreservedBytes(deps.disk, context.commandId, from)) < 2 * used + reserveBytes)
    return 'not enough disk space for a cold copy of the database'
  await deps.engine.createVolume(box.project, database.key, volume)
  const into = await deps.engine.volumePath(volume)
  if (into === undefined) return `the folder of ${volume} is not accessible`
  const outside = await linkToOutside(from)
  if (outside !== undefined) return `${outside} in ${database.volume} is a link out of the volume`
  await copyFolder(from, into, { signal, leaveOut: isUnusedSegment })
  // Row counts would not reveal a torn page.
  if (lastRun === undefined || (await lastRunOf(run)) !== lastRun)
    throw problem('CONFLICT', `the database of ${box.slug} was started while it was copied`)
  return undefined
}

/** Undefined while the database runs; a changed value means that it ran in between. */
export async function lastRunOf({ deps, box }: UpdateRun): Promise<string | undefined> {
  const database = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  return database && !isAlive(database) ? `${database.id} ${database.startedAt}` : undefined
}

/**
 * Brings the copy to the disk, which nothing waited for before; one from before a restart of the host may be torn. True until a restore used
 * it: once the chat server has run on it, it differs from the former database.
 */
export async function takeColdCopy(run: UpdateRun): Promise<boolean> {
  if (isHot(run)) await stopDumpServer(run)
  const text = await readIfThere(markOf(run)).catch(() => undefined)
  const mark = text === undefined ? undefined : Mark.safeParse(asJson(text)).data
  if (mark?.volume !== coldVolume(run)) return false
  if (!mark.isSynced && mark.bootId !== (await bootId())) return false
  try {
    return await syncColdCopy(run, mark)
  } catch (error) {
    run.signal.throwIfAborted()
    // Without a snapshot the copy is all there is: the step is tried again.
    if (!storedSnapshot(run)) throw error
    return false
  }
}

/** False without the volume. The files of the box are in the snapshot too. */
async function syncColdCopy(run: UpdateRun, { isSynced = false }: Mark): Promise<boolean> {
  const folder = await run.deps.engine.volumePath(coldVolume(run))
  if (folder === undefined) return false
  if (isSynced) return true
  await syncTree(folder, run.signal)
  if (storesFromCopy(run)) await syncTree(stagedFolder(run), run.signal)
  await writeMark(run, { isSynced: true })
  return true
}

/** Removes the mark first, so that a half-removed copy does not count. */
export async function dropColdCopy(run: UpdateRun): Promise<void> {
  await forgetColdCopy(run)
  await run.deps.engine.removeVolume(coldVolume(run))
}

export const forgetColdCopy = (run: UpdateRun): Promise<void> => rm(markOf(run), { recursive: true, force: true })
