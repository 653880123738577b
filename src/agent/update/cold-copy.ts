import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { asJson, duration, problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { reserveBytes, unreservedBytes } from '../backup/index.ts'
import { isAlive, stopAll } from '../change/index.ts'
import { copyFolder, syncTree } from './copy-folder.ts'
import { beforeOf, type ColdCopy, coldVolume, type UpdateRun } from './update-run.ts'

/** Written last, beside the dump: without it the copy is not complete. A name with a dot is not part of the dump. */
const markOf = ({ dumpFolder }: UpdateRun): string => join(dumpFolder, '.cold-copy.json')
const Mark = z.object({ volume: z.string(), bootId: z.string() })
/** Changes with each start of the host. */
const bootId = async (): Promise<string> => (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()

/**
 * The fast rollback: copies the database volume while nothing runs, into the volume of the first restore try. It only saves time, so a failure is
 * reported and never fails the update. PostgreSQL stays stopped. The copy counts once it is completed.
 */
export async function makeColdCopy(run: UpdateRun): Promise<ColdCopy> {
  const { deps, signal } = run
  const begun = deps.clock.monotonicMs()
  try {
    await stopAll(run)
    const reason = await copyVolume(run)
    return reason === undefined ? { copiedMs: deps.clock.monotonicMs() - begun } : skipped(run, reason)
  } catch (error) {
    // A passed deadline fails the step, and so does a drain.
    signal.throwIfAborted()
    await dropColdCopy(run).catch(() => undefined)
    return skipped(run, `no cold copy after ${duration(deps.clock.monotonicMs() - begun)}: ${(error as Error).message}`)
  }
}

/** After the store has read the folder of the dump: a copy counts by its mark there. */
export async function completeColdCopy(run: UpdateRun, copy: ColdCopy): Promise<ColdCopy> {
  if (copy.skipped !== undefined) return copy
  try {
    await writeFileAtomic(markOf(run), `${JSON.stringify({ volume: coldVolume(run), bootId: await bootId() })}\n`)
    return copy
  } catch (error) {
    return skipped(run, `no cold copy: ${(error as Error).message}`)
  }
}

/** The copy is made with the snapshot, or here for a snapshot of an older agent. */
export const coldCopy = async (run: UpdateRun): Promise<ColdCopy> =>
  run.evidence().snapshot?.copy ?? completeColdCopy(run, await makeColdCopy(run))

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
 * True until a restore used the copy: once a server has run on it, it differs from the former database. A copy is on the disk only now, where it
 * is used: one from before a restart of the host may be torn.
 */
export async function takeColdCopy(run: UpdateRun): Promise<boolean> {
  const text = await readIfThere(markOf(run)).catch(() => undefined)
  const mark = text === undefined ? undefined : Mark.safeParse(asJson(text)).data
  if (mark?.volume !== coldVolume(run)) return false
  try {
    const folder = mark.bootId === (await bootId()) ? await run.deps.engine.volumePath(mark.volume) : undefined
    if (folder !== undefined) await syncTree(folder, run.signal)
    return folder !== undefined
  } catch {
    run.signal.throwIfAborted()
    return false
  }
}

/** Removes the mark first, so that a half-removed copy does not count. */
export async function dropColdCopy(run: UpdateRun): Promise<void> {
  await forgetColdCopy(run)
  await run.deps.engine.removeVolume(coldVolume(run))
}

export const forgetColdCopy = (run: UpdateRun): Promise<void> => rm(markOf(run), { recursive: true, force: true })
