import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { asJson, duration, isoNow, problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { reserveBytes, unreservedBytes } from '../backup/index.ts'
import { isAlive, stopAll } from '../change/index.ts'
import { copyFolder, hasSameFiles, syncTree } from './copy-folder.ts'
import { stageBoxFolder, stopDumpServer } from './dump-server.ts'
import { beforeOf, type ColdCopy, coldVolume, copiedFolder, isAlongside, type UpdateRun } from './update-run.ts'

/** Written last: without it the copy is not complete. `isSynced`: the copy also survives a crash of the host. */
const Mark = z.object({ volume: z.string(), bootId: z.string(), isSynced: z.boolean().optional() })
type Mark = z.infer<typeof Mark>

const markOf = (run: UpdateRun): string => join(copiedFolder(run), 'mark.json')
const writeMark = async (run: UpdateRun, facts: Partial<Mark> = {}): Promise<void> =>
  writeFileAtomic(markOf(run), `${JSON.stringify({ volume: coldVolume(run), bootId: await bootId(), ...facts } satisfies Mark)}\n`)

/** Changes with each start of the host. */
const bootId = async (): Promise<string> => (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()

/**
 * The fast rollback: copies the database volume while nothing runs, into the volume of the first restore try. It only saves time, so a failure is
 * reported and never fails the update. PostgreSQL stays stopped. `check` may refuse the copy.
 */
export async function makeColdCopy(run: UpdateRun, check: () => Promise<void> = async () => undefined): Promise<ColdCopy> {
  const { deps, signal } = run
  const begun = deps.clock.monotonicMs()
  try {
    await stopAll(run)
    const reason = await copyVolume(run)
    if (reason !== undefined) return skipped(run, reason)
    await check()
    await writeMark(run)
    return { copiedMs: deps.clock.monotonicMs() - begun }
  } catch (error) {
    // A passed deadline fails the step, and so does a drain.
    signal.throwIfAborted()
    await dropColdCopy(run).catch(() => undefined)
    return skipped(run, `no cold copy after ${duration(deps.clock.monotonicMs() - begun)}: ${(error as Error).message}`)
  }
}

/** With \`before\` the copy is made with the snapshot, or here for a snapshot of an older agent. */
export const coldCopy = async (run: UpdateRun): Promise<ColdCopy> =>
  isAlongside(run) ? copyToDump(run) : (run.evidence().snapshot?.copy ?? makeColdCopy(run))

/** The copy that the snapshot is stored from later, with the box's files as they are now. Where it is refused, the snapshot is taken first. */
async function copyToDump(run: UpdateRun): Promise<ColdCopy> {
  const { deps } = run
  const { notAlongside, database } = beforeOf(run)
  if (notAlongside !== undefined) return skipped(run, notAlongside)
  const at = isoNow(deps.clock)
  const copy = await makeColdCopy(run, async () => {
    await assertStoppedCleanly(run)
    const [from, into] = [await deps.engine.volumePath(database.volume), await deps.engine.volumePath(coldVolume(run))]
    if (from === undefined || into === undefined || !(await hasSameFiles(from, into)))
      throw problem('CONFLICT', 'the copy of the database is not complete')
    await stageBoxFolder(run)
  })
  return copy.skipped === undefined ? { ...copy, at } : copy
}

/** The log of a database that was killed must be replayed, which only a full start proves to work. */
async function assertStoppedCleanly({ deps, box }: UpdateRun): Promise<void> {
  const database = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  if (database?.exitCode !== 0)
    throw problem('CONFLICT', `the database of ${box.slug} did not shut down cleanly (exit code ${database?.exitCode})`)
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
  await copyFolder(from, into, signal)
  // Row counts would not reveal a torn page.
  if (lastRun === undefined || (await lastRunOf(run)) !== lastRun)
    throw problem('CONFLICT', `the database of ${box.slug} was started while it was copied`)
  return undefined
}

/** Undefined while the database runs; a changed value means that it ran in between. */
async function lastRunOf({ deps, box }: UpdateRun): Promise<string | undefined> {
  const database = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  return database && !isAlive(database) ? `${database.id} ${database.startedAt}` : undefined
}

/**
 * True until a restore used the copy: once the chat server has run on it, it differs from the former database. A copy is on the disk only now,
 * where it is used: one from before a restart of the host may be torn.
 */
export async function takeColdCopy(run: UpdateRun): Promise<boolean> {
  if (isAlongside(run)) await stopDumpServer(run)
  const text = await readIfThere(markOf(run)).catch(() => undefined)
  const mark = text === undefined ? undefined : Mark.safeParse(asJson(text)).data
  if (mark?.volume !== coldVolume(run)) return false
  try {
    if (!mark.isSynced && mark.bootId !== (await bootId())) return false
    return await syncColdCopy(run)
  } catch {
    run.signal.throwIfAborted()
    return false
  }
}

/** Until then the copy does not survive a crash of the host. */
export async function keepColdCopy(run: UpdateRun): Promise<void> {
  if (!(await takeColdCopy(run))) throw problem('SNAPSHOT_FAILED', `the copy of the database of ${run.box.slug} is gone`)
  await writeMark(run, { isSynced: true })
}

async function syncColdCopy({ deps, signal, ...run }: UpdateRun): Promise<boolean> {
  const folder = await deps.engine.volumePath(coldVolume({ deps, signal, ...run }))
  if (folder !== undefined) await syncTree(folder, signal)
  return folder !== undefined
}

/** Removes the mark first, so that a half-removed copy does not count. */
export async function dropColdCopy(run: UpdateRun): Promise<void> {
  await forgetColdCopy(run)
  await run.deps.engine.removeVolume(coldVolume(run))
}

export const forgetColdCopy = (run: UpdateRun): Promise<void> => rm(markOf(run), { recursive: true, force: true })
