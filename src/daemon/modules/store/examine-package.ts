import { isoNow, isTooDeep, maxJsonLevels, plural, problem } from '../../../core/kit/index.ts'
import {
  assertCompatible,
  assertSameManifest,
  type ModuleManifest,
  manifestFile,
  readModuleManifest,
  samplesFile,
} from '../../../core/modules/index.ts'
import type { Submission } from '../../../core/store/index.ts'
import { loadModule, readArchive, zipOf } from '../../../node/module-package/index.ts'
import type { StoreDeps } from './deps.ts'

export type Examined = Readonly<{ manifest: ModuleManifest; scan: Submission['scan']; test: Submission['test'] }>
type Package = Readonly<{
  /** Reads the stored bytes. */
  read: () => Promise<Buffer>
  checksum: string
  manifest: string
  signal: AbortSignal
}>
type Deps = Pick<StoreDeps, 'clock' | 'scan' | 'test'>

/** A scan takes up to 500 MB in a process of its own; the class of its endpoints (`examination`) has one place. */
export function packageExaminer(deps: Deps) {
  const untilAborted = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (!signal.aborted) throw error
      throw problem('UNAVAILABLE', 'The scan was cancelled: the platform restarts. fix: upload the package again', {
        retryAfterSeconds: 30,
      })
    }
  }
  return {
    examine: (input: Package): Promise<Examined> => untilAborted(input.signal, () => examine(deps, input)),
    scanSources: (input: Sources): Promise<void> => untilAborted(input.signal, () => scanSources(deps, input)),
  }
}

type Sources = Readonly<{ sourceFiles: Readonly<Record<string, string>>; signal: AbortSignal }>

/** Scans files of a request as if they were a package, in the same process of its own. Throws SCAN_FAILED. */
async function scanSources({ scan }: Pick<Deps, 'scan'>, { sourceFiles, signal }: Sources): Promise<void> {
  const files = Object.entries(sourceFiles).map(([name, text]) => ({ name, bytes: Buffer.from(text) }))
  if (files.length === 0) return
  const { violations } = await scan(await zipOf(files), signal)
  const found = violations.filter(({ rule }) => rule !== 'manifest-missing' && rule !== 'main-missing')
  if (found.length > 0) throw scanFailed(found)
}

/** Scans a package and tests the module. Throws SCAN_FAILED, MODULE_INVALID, MANIFEST_MISMATCH, INCOMPATIBLE. A failing test is a result. */
async function examine({ clock, scan, test }: Deps, { read, checksum, manifest: sent, signal }: Package): Promise<Examined> {
  const inRequest = parsed(sent)
  const zip = await read()
  const report = await scan(zip, signal)
  if (!report.ok) throw scanFailed(report.violations)
  if (report.checksum !== checksum)
    throw problem('OBJECT_STORE_UNAVAILABLE', 'The stored package differs from the upload. fix: upload it again')
  const manifest = readModuleManifest(report.manifest ?? '')
  assertSameManifest(inRequest, JSON.parse(report.manifest ?? ''))
  assertCompatible(manifest)
  const { violations, files, bytes } = report
  const tested = manifest.type === 'A' ? await test(await moduleIn(zip), isoNow(clock)) : untested
  return { manifest, scan: { ok: true, violations: [...violations], files: files.length, bytes }, test: shortened(tested) }
}

const untested = { ok: true, ran: [], ms: 0, log: ['A type B module runs on its own server; nothing was run.'] }

function scanFailed(found: Submission['scan']['violations'] | readonly Submission['scan']['violations'][number][]) {
  const violations = found.map(({ rule, file, line, column, message }) => ({
    ...{ code: rule, message, file },
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
  }))
  const first = found[0]
  return problem(
    'SCAN_FAILED',
    `The scan found ${plural(found.length, 'violation')}, first in ${first?.file || 'the package'}: ${first?.message.replace(/\.$/, '')}. fix: tenantry modules check <dir> lists them`,
    { violations },
  )
}

function parsed(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalidManifest('must be the content of module.json')
  }
  if (isTooDeep(value)) throw invalidManifest(`must not be nested deeper than ${maxJsonLevels} levels`)
  return value
}

const invalidManifest = (reason: string) => problem('VALIDATION', `manifest: ${reason}`, { details: [{ path: 'manifest', reason }] })

/** A module must fit into a sandbox. */
const maxCodeBytes = 20e6
/** Samples are parsed in the thread of the daemon. */
const maxSamplesBytes = 262_144

/** The code of a type A module. Throws MODULE_INVALID. */
export async function moduleIn(zip: Buffer) {
  const files: Parameters<typeof loadModule>[0][number][] = []
  let [codeBytes, samplesBytes] = [0, 0]
  await readArchive(zip, (file) => {
    const { name, bytes } = file
    if (name === samplesFile) samplesBytes = bytes.length
    if (/\.m?js$/.test(name)) codeBytes += bytes.length
    else if (name !== manifestFile && name !== samplesFile) return
    if (codeBytes <= maxCodeBytes) files.push(file)
  })
  if (samplesBytes > maxSamplesBytes) throw problem('MODULE_INVALID', `${samplesFile} has more than 256 KiB. fix: use smaller samples`)
  if (codeBytes > maxCodeBytes) throw problem('MODULE_INVALID', 'The code of the module has more than 20 MB. fix: leave data out')
  return loadModule(files)
}

const shortened = ({ ok, ran, ms, log }: Awaited<ReturnType<StoreDeps['test']>>): Submission['test'] => ({
  ok,
  ran: ran.slice(0, 200).map((step) => ({ ...step, message: step.message?.slice(0, 1000) ?? null })),
  ms,
  log: log.slice(0, 200).map((line) => line.slice(0, 500)),
})
