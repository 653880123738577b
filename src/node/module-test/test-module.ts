import { z } from 'zod'
import { idsOf, isModuleEvent } from '../../core/events/index.ts'
import { canonicalJson, plural } from '../../core/kit/index.ts'
import {
  type Expected,
  MemoryTenant,
  type ModuleManifest,
  ModuleResponse,
  type Published,
  type RunResult,
  type SampleStep,
  type Samples,
  serveCalls,
  stepsOf,
} from '../../core/modules/index.ts'
import type { Job, Sandbox } from '../sandbox/index.ts'

/** One line of the result. `step`: `exports`, `migration 1`, `event space.created`, `request GET /`. */
export type TestedStep = Readonly<{ step: string; ok: boolean; ms: number; calls: number; message: string | null }>
export type TestReport = Readonly<{ ok: boolean; ran: readonly TestedStep[]; ms: number; log: readonly string[] }>

/** A test may have more than 1,000 runs, each with 100 lines and 200 violations. */
const maxLogLines = 1000
const maxViolations = 10

/** A module as it is tested: its code by path, its manifest, and the samples. */
export type TestedModule = Readonly<{ files: Readonly<Record<string, string>>; manifest: ModuleManifest; samples: Samples }>

/**
 * Loads a module in the sandbox, runs its migrations on empty data and then each step, with all declared permissions. `now`: the time that the
 * module sees, ISO 8601.
 */
export async function testModule(sandbox: Sandbox, { files, manifest, samples }: TestedModule, now: string): Promise<TestReport> {
  const tenant = new MemoryTenant(samples, manifest)
  const ran: TestedStep[] = []
  const log: string[] = []
  let lostLines = 0
  const tryJob = async (step: string, job: Job, faultOf: FaultOf): Promise<void> => {
    const { handlers, published, commit } = tenant.begin()
    const run = { files, main: manifest.main, job, settings: samples.settings, now }
    const result = await sandbox.run(run, serveCalls(manifest.permissions, handlers))
    if (result.outcome === 'done') commit()
    const rest = maxLogLines - log.length
    log.push(...result.log.slice(0, rest).map((line) => `${step}: ${line}`))
    lostLines += Math.max(0, result.log.length - rest)
    const message = failureOf(result) ?? faultOf(result, published)
    ran.push({ step, ok: message === null, ms: Math.round(result.ms * 10) / 10, calls: result.calls, message })
  }
  await tryJob('exports', { type: 'describe' }, (result) => exportsFault(result, manifest))
  if (ran[0]?.ok)
    for (let index = 0; index < manifest.dataVersion; index++)
      await tryJob(`migration ${index + 1}`, { type: 'migration', index }, () => null)
  if (ran.every(({ ok }) => ok))
    for (const sample of stepsOf(samples, manifest))
      await tryJob(nameOf(sample), jobOf(sample), (result, published) => sampleFault(sample, { result, published, tenant }))
  if (lostLines > 0) log.push(`… ${plural(lostLines, 'more line')}`)
  return { ok: ran.every(({ ok }) => ok), ran, ms: Math.round(ran.reduce((sum, { ms }) => sum + ms, 0)), log }
}

type FaultOf = (result: RunResult, published: readonly Published[]) => string | null

const nameOf = (step: SampleStep) => ('event' in step ? `event ${step.event.type}` : `request ${step.request.method} ${step.request.path}`)

/** As in the platform: of its own events a module gets the ids alone. */
const shownOf = ({ type, payload }: Extract<SampleStep, { event: unknown }>['event']): unknown =>
  isModuleEvent(type) ? payload : idsOf(type, payload)

const jobOf = (step: SampleStep): Job =>
  'event' in step ? { type: 'event', event: { ...step.event, payload: shownOf(step.event) } } : { type: 'request', request: step.request }

/** A violation fails a step even if the module caught the error. */
function failureOf({ violations, ...result }: RunResult): string | null {
  if (violations.length === 0) return result.outcome === 'done' ? null : result.message
  const named = violations.slice(0, maxViolations).map(({ kind, message }) => `${kind}: ${message}`)
  const more = violations.length - named.length
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/** The module answers it, and may have changed what objects do. */
const Exported = z.object({ events: z.array(z.string()), routes: z.boolean(), migrations: z.number() })

/** The manifest decides which handlers are called: one that it does not name would never run. */
function exportsFault(result: RunResult, { events, routes, dataVersion, main }: ModuleManifest): string | null {
  const read = Exported.safeParse(result.outcome === 'done' ? result.value : null)
  if (!read.success) return `the exports of ${main} cannot be read`
  const exported = read.data
  const missing = events.subscribes.filter((type) => !exported.events.includes(type))
  const extra = exported.events.filter((type) => !events.subscribes.includes(type))
  if (missing.length > 0) return `${main} exports no handler in on for ${missing.join(', ')}`
  if (extra.length > 0) return `events.subscribes of the manifest does not name ${extra.join(', ')}`
  if (routes && !exported.routes) return `${main} exports no handle, but the manifest has routes: true`
  if (!routes && exported.routes) return `${main} exports handle, but the manifest has routes: false`
  if (exported.migrations !== dataVersion)
    return `${main} exports ${exported.migrations} migrations, but the manifest has dataVersion ${dataVersion}`
  return null
}

type Seen = Readonly<{ result: RunResult; published: readonly Published[]; tenant: MemoryTenant }>

function sampleFault(step: SampleStep, seen: Seen): string | null {
  const value = seen.result.outcome === 'done' ? seen.result.value : null
  const response = 'request' in step ? ModuleResponse.safeParse(value) : undefined
  if (response && !response.success)
    return `handle returned no response: ${response.error.issues[0]?.path.join('.') || 'value'} ${response.error.issues[0]?.message}`
  return expectationFault(step.expect ?? {}, { ...seen, response: response?.data })
}

function expectationFault({ documents = {}, published, status, body }: Expected, seen: Seen & { response: ModuleResponse | undefined }) {
  const differs = (what: string, expected: unknown, found: unknown) =>
    canonicalJson(expected) === canonicalJson(found) ? null : `${what}: expected ${shown(expected)}, found ${shown(found)}`
  const faults = [
    ...Object.entries(documents).map(([key, value]) => differs(`document ${key}`, value, seen.tenant.document(key))),
    published &&
      differs(
        'published',
        published,
        seen.published.map(({ name, payload }) => ({ name, payload })),
      ),
    status !== undefined && differs('status', status, seen.response?.status),
    body !== undefined && bodyFault(body, seen.result),
  ]
  return faults.filter((fault): fault is string => typeof fault === 'string')[0] ?? null
}

/** A body that is much longer than the expected one is not read. */
function bodyFault(expected: unknown, result: RunResult): string | null {
  const json = (result.outcome === 'done' ? result.body : undefined) ?? 'null'
  const wanted = canonicalJson(expected)
  if (json.length <= 2 * wanted.length + 100 && canonicalJson(JSON.parse(json)) === wanted) return null
  return `body: expected ${shown(expected)}, found ${json.slice(0, 200)}`
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 200)
