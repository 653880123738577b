import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { isoNow, newId, problem } from '../../../core/kit/index.ts'
import {
  CallRefused,
  type ModuleManifest,
  maxMigrationMs,
  type Permission,
  RunBuffer,
  type RunResult,
  type SvcHandlers,
  serveCalls,
} from '../../../core/modules/index.ts'
import { copyDocuments, sumOfDocuments, writeDocuments } from '../documents.repo.ts'
import type { InstallationRecord } from '../installations.repo.ts'
import { abortWhenStale, isPreparing } from '../runnable.ts'
import { insertRun, type NewRun } from '../runs.repo.ts'
import type { ModuleRunsDeps } from './deps.ts'
import { tenantReads } from './tenant-reads.ts'

type Deps = Pick<
  ModuleRunsDeps,
  'db' | 'clock' | 'random' | 'log' | 'migrations' | 'migrationPlaces' | 'loadCode' | 'files' | 'counts' | 'settingsOf'
>

const stepOf = 1_000
/** SQLite works on the thread that serves: a step holds it for a few hundredths of a second. */
const stepBytes = 4 * 1024 * 1024
const copiedAtOnce = 100
const limits = { interpreterMs: 20_000, calls: 200_000 }

/** An installation about to be active in a version. Documents are written to the generation `target`, which nothing reads yet. */
type Preparation = Readonly<{
  installation: InstallationRecord
  manifest: ModuleManifest
  permissions: readonly string[]
  target: number
}>

/**
 * Migrates the documents of a module to the version of the manifest, into a generation of their own. The caller switches to it in one row, or
 * deletes it. Throws MODULE_MIGRATION_FAILED with the module's message, UNAVAILABLE or RATE_LIMITED while too many others run.
 */
export async function migrateDocuments(deps: Deps, preparation: Preparation) {
  const { installation, manifest } = preparation
  const { tenantId, dataVersion, dataGeneration, dataBytes } = installation
  if (manifest.dataVersion <= dataVersion) return { dataGeneration, dataVersion, dataBytes }
  const leave = await deps.migrationPlaces.enter('migration', { name: tenantId, tenant: tenantId })
  try {
    return await migrateInTime(deps, preparation)
  } finally {
    leave()
  }
}

async function migrateInTime(deps: Deps, preparation: Preparation) {
  const { installation, manifest, target } = preparation
  const { tenantId, moduleId, dataVersion, dataGeneration } = installation
  const place = { tenantId, moduleId, generation: dataGeneration }
  const next = { ...place, generation: target }
  const [done, late, stale] = [new AbortController(), new AbortController(), new AbortController()]
  void deps.clock.sleep(maxMigrationMs, done.signal).then(() => late.abort())
  void abortWhenStale(deps, () => isPreparing(deps.db, installation, manifest.version), { over: done.signal, stale })
  const over = AbortSignal.any([late.signal, stale.signal])
  try {
    let after: string | undefined = ''
    while (after !== undefined && !over.aborted) {
      after = await copyDocuments(deps.db, place, { to: target, after, limit: copiedAtOnce })
      await yieldToEventLoop()
    }
    for (let index = dataVersion; index < manifest.dataVersion; index++) await migrateOnce(deps, { ...preparation, index, over })
  } catch (error) {
    throw stale.signal.aborted ? overtaken(manifest) : error
  } finally {
    done.abort()
  }
  return { dataGeneration: target, dataVersion: manifest.dataVersion, dataBytes: await sumOfDocuments(deps.db, next) }
}

const overtaken = ({ id, version }: ModuleManifest) =>
  problem('CONFLICT', `The migration to ${id} ${version} was ended: the version was withdrawn, or the installation changed.`)

type Step = Preparation & Readonly<{ index: number; over: AbortSignal }>

async function migrateOnce(deps: Deps, { installation, manifest, permissions, target, index, over }: Step): Promise<void> {
  const { db, clock, migrations, random } = deps
  const migrated: InstallationRecord = {
    ...installation,
    version: manifest.version,
    permissions: permissions as Permission[],
    dataGeneration: target,
  }
  const code = await deps.loadCode(migrated)
  const { handlers, finish } = await inSteps(deps, { migrated, manifest })
  const failed = (message: string) =>
    problem('MODULE_MIGRATION_FAILED', `Migration ${index + 1} of ${manifest.id} ${manifest.version} failed: ${message}`)
  const run = { files: code.files, main: manifest.main, job: { type: 'migration', index } as const, now: isoNow(clock) }
  const settings = await deps.settingsOf(db, migrated, manifest)
  const given = { ...run, settings, limits: { ...limits, wallMs: maxMigrationMs } }
  const result = await migrations.run(given, serveCalls(migrated.permissions, handlers), over).catch((error: unknown) => {
    if (over.aborted) throw failed(`it took longer than ${maxMigrationMs / 1000} s`)
    throw error
  })
  const about = { kind: 'migration', eventType: null, cause: null, depth: 0, deliveryId: null, attempt: 1 } as const
  const { tenantId, moduleId, version, generation } = migrated
  const stored: NewRun = {
    ...{ ...about, id: newId(random, 'mrn'), tenantId, moduleId, version, generation },
    ...{ status: result.outcome, error: messageOf(result), result, createdAt: isoNow(clock) },
  }
  await insertRun(db, stored)
  deps.counts.add(deps, stored)
  if (result.outcome !== 'done') throw failed(result.message)
  await finish()
}

const messageOf = (result: RunResult): string | null => (result.outcome === 'done' ? null : result.message)

const refused = async () => {
  throw new CallRefused('NOT_ALLOWED', 'a migration changes documents only')
}

type Migrated = Readonly<{ migrated: InstallationRecord; manifest: ModuleManifest }>

/** Writes the documents after every 1,000 changes or 4 MiB, so that a migration of many needs no memory for all of them. */
async function inSteps(deps: Deps, { migrated, manifest }: Migrated) {
  const { db, random } = deps
  const place = { tenantId: migrated.tenantId, moduleId: migrated.moduleId, generation: migrated.dataGeneration }
  const begin = async () => {
    const dataBytes = await sumOfDocuments(db, place)
    const reads = tenantReads(deps, { installation: migrated, caller: null })
    return new RunBuffer({ reads, manifest, dataBytes, publishedBefore: 0, newFileId: () => newId(random, 'fil'), keepsReads: false })
  }
  let buffer = await begin()
  const finish = async () => {
    const { documents } = buffer.effects()
    if (documents.length > 0) await db.transaction().execute((tx) => writeDocuments(tx, place, { changes: documents, version: 1 }))
    buffer = await begin()
  }
  const inTurn = oneAtATime()
  const changed = (work: () => Promise<unknown>) =>
    inTurn(async () => {
      await work()
      if (buffer.changedDocuments >= stepOf || buffer.changedBytes >= stepBytes) await finish()
    })
  const handlers: SvcHandlers = {
    ...{ 'events.publish': refused, 'files.write': refused },
    'data.get': (input) => inTurn(() => buffer.handlers['data.get'](input)),
    'data.list': (input) => inTurn(() => buffer.handlers['data.list'](input)),
    'data.put': (input) => changed(() => buffer.handlers['data.put'](input)),
    'data.delete': (input) => changed(() => buffer.handlers['data.delete'](input)),
    'spaces.list': (input) => buffer.handlers['spaces.list'](input),
    'files.list': (input) => buffer.handlers['files.list'](input),
    'files.read': (input) => buffer.handlers['files.read'](input),
  }
  return { handlers, finish }
}

/** Calls that a module does not await must not overlap during a step. */
function oneAtATime() {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}
