import { rm } from 'node:fs/promises'
import type { AgentError, ProbeResult } from '../../core/boxes/index.ts'
import type { SagaFacts } from '../../core/saga/index.ts'
import { clearDump } from '../backup/index.ts'
import { readFence, reportVersions } from '../boxes/index.ts'
import type { JournalEntry } from '../journal/index.ts'
import type { FormerDatabase, LocalBox } from '../ports/index.ts'
import { retry, withRemark } from '../saga/index.ts'
import type { ChangeRun } from './run.types.ts'

/** The part that results of all changes share, from the journal and a final read of the box. */
export const commonResult = async (run: ChangeRun) => ({
  durationMs: run.elapsedMs(),
  fencedMs: fencedMs(run),
  probes: probesOf(run.entries()),
  report: await reportVersions(run.deps, run.box).catch(() => null),
})

const probesOf = (entries: readonly JournalEntry[]): ProbeResult[] =>
  entries.flatMap(({ mark, data }) => (mark === 'note' ? ((data as { probe?: ProbeResult }).probe ?? []) : []))

/** All the time that the box was fenced; a box that is still fenced counts until now. */
function fencedMs(run: Pick<ChangeRun, 'entries' | 'elapsedMs'>): number {
  let total = 0
  let since: number | undefined
  for (const { step, mark, elapsedMs } of run.entries()) {
    if (mark !== 'done') continue
    if (step === 'fence' || step === 'refence') since ??= elapsedMs
    if (step !== 'unfence' || since === undefined) continue
    total += elapsedMs - since
    since = undefined
  }
  return since === undefined ? total : total + run.elapsedMs() - since
}

const failureCodes = { update: 'UPDATE_FAILED', restore: 'RESTORE_FAILED' } as const

/** Why a change did not commit, with a remark on the present state of the box. The error of a failed rollback names the first failure too. */
export function errorOf(what: keyof typeof failureCodes, facts: SagaFacts<string>, remark?: string): AgentError {
  const failure = facts.failure ?? { code: failureCodes[what], message: `the ${what} failed` }
  const { abandoned, endError } = facts
  if (abandoned && endError)
    return { code: endError.code, message: `the rollback failed: ${endError.message}; it started because: ${failure.message}` }
  return remark === undefined ? failure : { code: failure.code, message: withRemark(failure.message, remark) }
}

type Leftover = Readonly<{
  volumes: readonly string[]
  keepImages?: boolean
  /** Present head of the box migrations. */
  migrationsHead?: string | undefined
  /** A volume that is kept for some days. */
  former?: FormerDatabase | undefined
}>

/**
 * Removes what a change leaves behind that committed, touched nothing, or was rolled back. After a failed rollback everything stays. A failure
 * here never changes the outcome.
 */
export async function removeLeftover(run: ChangeRun, { volumes, keepImages = false, ...facts }: Leftover): Promise<void> {
  const { deps, box, context } = run
  for (const volume of volumes) await ignoreFailure(deps.engine.removeVolume(volume))
  if (!keepImages) await ignoreFailure(unpinImages(run))
  await ignoreFailure(clearDump(deps, context.commandId))
  await ignoreFailure(rm(run.fetchFolder, { recursive: true, force: true }))
  const changed = recordWith(box, facts)
  if (changed === box) return
  // The record is only a copy of what the database says: the result does not wait for it longer than the daemon waits for the result.
  const isOver = () => run.elapsedMs() > run.payload.deadlineMs
  const put = () => deps.boxes.put(changed)
  await ignoreFailure(retry({ ...run, isOver }, `the record of ${box.slug} cannot be written`, put))
  run.context.signal.throwIfAborted()
}

function recordWith(box: LocalBox, { migrationsHead = box.migrationsHead, former }: Omit<Leftover, 'volumes'>): LocalBox {
  if (migrationsHead === box.migrationsHead && !former) return box
  if (!former) return { ...box, migrationsHead }
  const others = (box.formerDatabases ?? []).filter(({ volume }) => volume !== former.volume)
  return { ...box, migrationsHead, formerDatabases: [...others, former] }
}

/** A box that is still fenced waits for a person's decision, which may need the former images. */
async function unpinImages({ deps, box }: Pick<ChangeRun, 'deps' | 'box'>): Promise<void> {
  if ((await readFence(box.project)) === undefined) await deps.engine.unpin(box.slug)
}

const ignoreFailure = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined)
