import { rm } from 'node:fs/promises'
import type { AgentError, StepFacts } from '../../core/boxes/index.ts'
import { clearDump } from '../backup/index.ts'
import { readFence, reportVersions } from '../boxes/index.ts'
import { patiently } from '../course/index.ts'
import { failedAs, type What } from './drive.ts'
import type { GuardedRun } from './guarded-run.ts'
import { fencedMs, probesOf } from './journal-lines.ts'

/** What the result of every change says, from the journal and a last look at the box. */
export const sumUpRun = async (run: GuardedRun) => ({
  durationMs: run.elapsedMs(),
  fencedMs: fencedMs(run),
  probes: probesOf(run.entries()),
  report: await reportVersions(run.deps, run.box).catch(() => null),
})

/** Why it did not end as it was meant to, with a remark on how the box is now; a way back that failed says why it was taken. */
export function whyEnded(what: What, facts: StepFacts<string>, remark?: string): AgentError {
  const why = facts.failure ?? { code: failedAs[what], message: `the ${what} failed` }
  const { givenUp, backError } = facts
  if (givenUp && backError)
    return { code: backError.code, message: `the way back failed: ${backError.message}; it was taken because: ${why.message}` }
  return remark === undefined ? why : { code: why.code, message: `${why.message}; ${remark}` }
}

type Left = Readonly<{
  /** Volumes that nobody needs any more. */
  volumes: readonly string[]
  imagesStay?: boolean
  /** Of the box's own tables, as they are now. */
  migrationsHead?: string | undefined
}>

/**
 * Clears what a change leaves behind that has ended well, or touched nothing, or is proven as before. After a failed way back everything stays,
 * and this is not called. Failures here never change how it ended, and what is committed is never told as failed because a record waits for room.
 */
export async function clearUp(run: GuardedRun, { volumes, imagesStay = false, migrationsHead }: Left): Promise<void> {
  const { deps, box, context } = run
  for (const volume of volumes) await quietly(deps.engine.removeVolume(volume))
  if (!imagesStay) await quietly(letImagesGo(run))
  await quietly(clearDump(deps, context.commandId))
  await quietly(rm(run.fetchFolder, { recursive: true, force: true }))
  if (migrationsHead === undefined || migrationsHead === box.migrationsHead) return
  await patiently(run, `the record of ${box.slug} cannot be written`, () => deps.boxes.put({ ...box, migrationsHead }))
}

/** A box that is fenced still rests for somebody to decide, and may need the images of whoever left it there. */
async function letImagesGo({ deps, box }: Pick<GuardedRun, 'deps' | 'box'>): Promise<void> {
  if ((await readFence(box.project)) === undefined) await deps.engine.unpin(box.slug)
}

const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined)
