import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { asJson, duration, problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { freeBeside, reserveBytes } from '../backup/index.ts'
import { isAlive, stopAll } from '../change/index.ts'
import { copyFolder } from './copy-folder.ts'
import { beforeOf, coldVolume, type UpdateRun } from './update-run.ts'

/** Written last, beside the dump: without it the copy is not whole. A name with a dot is no part of the dump. */
const markOf = ({ dumpFolder }: UpdateRun): string => join(dumpFolder, '.cold-copy.json')
const Mark = z.object({ volume: z.string() })

/**
 * The fast way back: a copy of the database's volume while nothing runs, into the volume that a first try of a restore would take.
 * It only saves time: what hinders it is told and never fails the update. PostgreSQL is left stopped, the next step starts it.
 */
export async function coldCopy(run: UpdateRun): Promise<{ copiedMs?: number; skipped?: string }> {
  const { deps, signal, context } = run
  const begun = deps.clock.monotonicMs()
  try {
    await stopAll(run)
    const skipped = await copyVolume(run)
    if (skipped === undefined) return { copiedMs: deps.clock.monotonicMs() - begun }
    context.progress({ step: 'cold-copy', detail: skipped })
    return { skipped }
  } catch (error) {
    // The deadline of the update is a failure of the step, and so is a drain.
    signal.throwIfAborted()
    const skipped = `no cold copy after ${duration(deps.clock.monotonicMs() - begun)}: ${(error as Error).message}`.slice(0, 300)
    context.progress({ step: 'cold-copy', detail: skipped })
    await dropColdCopy(run).catch(() => undefined)
    return { skipped }
  }
}

/** Answers why there is none, if there is none. */
async function copyVolume(run: UpdateRun): Promise<string | undefined> {
  const { deps, box, context, signal } = run
  const { database } = beforeOf(run)
  const volume = coldVolume(run)
  const lastRun = await lastRunOf(run)
  await dropColdCopy(run)
  const from = await deps.engine.volumePath(database.volume)
  if (from === undefined) return `the folder of ${database.volume} cannot be reached`
  // After it a load of the dump must still find room.
  const used = await deps.disk.usedBytes(from)
  if ((await freeBeside(deps.disk, context.commandId, from)) < 2 * used + reserveBytes)
    return 'too little space for a cold copy of the database'
  await deps.engine.createVolume(box.project, database.key, volume)
  const into = await deps.engine.volumePath(volume)
  if (into === undefined) return `the folder of ${volume} cannot be reached`
  await copyFolder(from, into, signal)
  // Counts do not see a torn page.
  if (lastRun === undefined || (await lastRunOf(run)) !== lastRun)
    throw problem('CONFLICT', `somebody started the database of ${box.slug} while it was copied`)
  await writeFileAtomic(markOf(run), `${JSON.stringify({ volume })}\n`)
  return undefined
}

/** Undefined while the database runs; another answer than before says that it has run in between. */
async function lastRunOf({ deps, box }: UpdateRun): Promise<string | undefined> {
  const database = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  return database && !isAlive(database) ? `${database.id} ${database.startedAt}` : undefined
}

/** True until a restore took it: a copy that a server has run on is not the database as it was. Of a mark that cannot be read nothing is known: the dump is there. */
export async function hasColdCopy(run: UpdateRun): Promise<boolean> {
  const text = await readIfThere(markOf(run)).catch(() => undefined)
  const mark = text === undefined ? undefined : Mark.safeParse(asJson(text))
  return mark?.data?.volume === coldVolume(run)
}

/** First its mark, so that a half-removed copy is none. */
export async function dropColdCopy(run: UpdateRun): Promise<void> {
  await forgetColdCopy(run)
  await run.deps.engine.removeVolume(coldVolume(run))
}

export const forgetColdCopy = (run: UpdateRun): Promise<void> => rm(markOf(run), { recursive: true, force: true })
