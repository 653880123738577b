import { isoNow, isProblem, newId, type PlatformPrincipal } from '../../../core/kit/index.ts'
import { RunBuffer, type RunEffects, type RunResult, serveCalls } from '../../../core/modules/index.ts'
import type { Job } from '../../../node/sandbox/index.ts'
import type { Tx } from '../../db/index.ts'
import { prepareFile } from '../../files/index.ts'
import type { InstallationRecord } from '../installations.repo.ts'
import { publishModuleEvents } from '../publish-events.ts'
import { findPublishing } from '../publishing.repo.ts'
import { insertRun, type NewRun } from '../runs.repo.ts'
import { applyDocuments, assertCurrent, Outdated } from './apply-effects.ts'
import type { ModuleCode, ModuleRunsDeps } from './deps.ts'
import { tenantReads } from './tenant-reads.ts'

export type RunDeps = Pick<
  ModuleRunsDeps,
  'db' | 'clock' | 'random' | 'log' | 'sandbox' | 'queue' | 'watch' | 'loadCode' | 'counts' | 'files' | 'settingsOf'
>

export type Start = Readonly<{
  installation: InstallationRecord
  code: ModuleCode
  job: Job
  /** Whose spaces and files the run sees; null: all of the tenant. */
  caller: PlatformPrincipal | null
  about: Pick<NewRun, 'kind' | 'eventType' | 'cause' | 'depth' | 'deliveryId' | 'attempt'>
  /** Also done in the transaction of the run; returns false if another replica did it. */
  alsoIn?: (tx: Tx) => Promise<boolean>
}>

/**
 * `conflict`: what the run read has changed. `stale`: the installation changed or may not run any more; nothing was applied in both cases. The
 * caller stores a run that failed.
 */
export type Ran =
  | (Readonly<{ outcome: 'done' }> & Pick<Extract<RunResult, { outcome: 'done' }>, 'value' | 'body'>)
  | Readonly<{ outcome: 'failed' | 'limit'; run: NewRun }>
  | Readonly<{ outcome: 'conflict' | 'stale' | 'lost'; run: NewRun }>

/** Runs a module once. All of its effects commit in one transaction, or none. */
export async function runOnce(deps: RunDeps, start: Start, signal?: AbortSignal): Promise<Ran> {
  const { installation, code, about } = start
  const { tenantId, moduleId, version, generation } = installation
  const id = newId(deps.random, 'mrn')
  const before = await findPublishing(deps.db, installation)
  const publishedBefore = before?.minute === minuteOf(deps) ? before.published : 0
  const buffer = new RunBuffer({
    ...{ reads: tenantReads(deps, start), manifest: code.manifest, dataBytes: installation.dataBytes, publishedBefore },
    newFileId: () => newId(deps.random, 'fil'),
  })
  const result = await inSandbox(deps, start, { buffer, signal })
  const shared = { ...about, id, tenantId, moduleId, version, generation, createdAt: isoNow(deps.clock) }
  const runOf = (status: NewRun['status'], error: string | null, of: NewRun['result'] = result ?? unknown): NewRun => ({
    ...shared,
    ...{ status, error, result: of },
  })
  if (!result) return { outcome: 'stale', run: runOf('conflict', 'the installation changed while the run was active') }
  if (result.outcome !== 'done') return counted(deps, { outcome: result.outcome, run: runOf(result.outcome, result.message) })
  const run = runOf('done', null)
  const ended = await applied(deps, start, { run, effects: buffer.effects() })
  if (ended.outcome === 'done') {
    deps.counts.add(deps, run)
    return { outcome: 'done', value: result.value, body: result.body }
  }
  if (ended.outcome === 'failed') return counted(deps, { outcome: 'failed', run: runOf('failed', ended.reason) })
  return { outcome: ended.outcome, run: runOf('conflict', ended.reason) }
}

const unknown: NewRun['result'] = { ms: 0, interpreterMs: 0, violations: [], log: [] }

function counted(deps: RunDeps, ran: Ran & { run: NewRun }): Ran {
  deps.counts.add(deps, ran.run)
  return ran
}

const minuteOf = ({ clock }: Pick<RunDeps, 'clock'>) => isoNow(clock).slice(0, 16)

/** Undefined if the installation changed meanwhile: the run was ended. */
async function inSandbox(
  deps: RunDeps,
  { installation, code, job }: Start,
  { buffer, signal }: Readonly<{ buffer: RunBuffer; signal: AbortSignal | undefined }>,
): Promise<RunResult | undefined> {
  const { sandbox, queue, clock, db } = deps
  const settings = await deps.settingsOf(db, installation, code.manifest)
  const run = { files: code.files, main: code.manifest.main, job, settings, now: isoNow(clock) }
  const inThread = async () => {
    const stale = new AbortController()
    const end = deps.watch(installation, stale)
    const either = signal ? AbortSignal.any([signal, stale.signal]) : stale.signal
    try {
      return await sandbox.run(run, serveCalls(installation.permissions, buffer.handlers), either)
    } catch (error) {
      if (stale.signal.aborted) return undefined
      throw error
    } finally {
      end()
    }
  }
  const { tenantId, moduleId } = installation
  return queue.run({ tenantId, moduleId, run: inThread, isSlow: isOutOfTime })
}

const isOutOfTime = (result: RunResult | undefined): boolean =>
  result?.violations.some(({ kind }) => kind === 'wall_time' || kind === 'interpreter_time') === true

type Ended = Readonly<{ outcome: 'done' } | { outcome: 'failed' | 'conflict' | 'stale' | 'lost'; reason: string }>

/** Bytes of files are stored before the transaction; without it they are erased later. */
async function applied(
  deps: RunDeps,
  { installation, code, alsoIn }: Start,
  { run, effects }: Readonly<{ run: NewRun; effects: RunEffects }>,
): Promise<Ended> {
  const createdBy = `module:${run.moduleId}`
  const of = { tenantId: run.tenantId, createdBy, runId: run.id, depth: run.depth, contentType: 'text/plain' }
  try {
    const files: Awaited<ReturnType<typeof prepareFile>>[] = []
    for (const { content, ...file } of effects.files)
      files.push(await prepareFile(deps.files, { ...of, ...file, content: Buffer.from(content) }))
    await deps.db.transaction().execute(async (tx) => {
      await assertCurrent(deps, tx, { installation, effects })
      if (alsoIn && !(await alsoIn(tx))) throw new Outdated('lost', 'another replica delivered the event')
      await applyDocuments(deps, tx, { installation, effects })
      await insertRun(tx, run)
      for (const finish of files) await finish(tx)
      const refused = await publishModuleEvents(deps.clock, tx, { run, manifest: code.manifest, published: effects.published })
      if (refused !== undefined) throw new Outdated('conflict', refused)
    })
    return { outcome: 'done' }
  } catch (error) {
    if (error instanceof Outdated) return { outcome: error.outcome, reason: error.message }
    if (isProblem(error) && !error.retryable) return { outcome: 'failed', reason: `${error.code}: ${error.message}` }
    throw error
  }
}
