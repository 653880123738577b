import type { ProbeResult } from '../../core/boxes/index.ts'
import { duration, problem } from '../../core/kit/index.ts'
import type { Baseline, GuardedRun } from './guarded-run.ts'
import { watchContainers } from './unharmed.ts'

export type Proof = Readonly<{
  step: string
  /** As they were started, if that was written down. */
  baseline: Baseline | undefined
  /** What must run, where the registry's word is known. */
  images: Readonly<Record<string, Readonly<{ digest?: string | null | undefined }> | undefined>>
  /** A box on its way is waited for until the command's deadline, and on the way back as long as two probe rules take. */
  way: 'there' | 'back'
}>

/**
 * The probe rule: so many good probes in a row, so far apart. A container that is no longer what was started, or prints that it will never come up, fails at once. While a database recovers or a schema is upgraded the rule's time does not count, up to the end of patience.
 * Throws PROBE_FAILED.
 */
export async function proveHealthy(run: GuardedRun, { step, baseline = {}, images, way }: Proof): Promise<void> {
  const { deps, payload, signal } = run
  const { consecutive, spacingMs, timeoutMs } = payload.probe
  const now = deps.clock.monotonicMs
  const begun = now()
  const patienceMs = way === 'there' ? payload.deadlineMs - run.elapsedMs() : 2 * timeoutMs
  const watch = watchContainers(run, { baseline, digests: digestsOf(images) })
  const keep = (probe: ProbeResult) => run.note(step, { probe })
  let counts = begun
  let everGood = false
  let last: ProbeResult | undefined
  for (let good = 0, bad = 0, news = 0; ; ) {
    await watch.look()
    const probe = await probeOnce(run)
    const isKept = probe.verdict === 'ok' || (isOther(probe, last) && news++ < mostNews)
    if (isKept) await keep(probe)
    last = probe
    good = probe.verdict === 'ok' ? good + 1 : 0
    bad = probe.verdict === 'ok' ? 0 : bad + 1
    everGood ||= good > 0
    run.context.progress({
      step,
      detail: says(probe, everGood, `${good} of ${consecutive} good`),
      percent: (100 * good) / consecutive,
    })
    if (probe.verdict === 'ok') await watch.settle()
    // What came up once is judged by what it does.
    else if (!everGood && (isKept || bad % heardEvery === 0)) await watch.hear(probe)
    if (good >= consecutive) return watch.look()
    if (isOnItsWay(probe)) counts = now()
    const waitMs = good > 0 ? spacingMs : firstWaits(spacingMs, bad)
    const tooLong = now() + waitMs - counts > timeoutMs || now() + waitMs - begun > Math.max(timeoutMs, patienceMs)
    if (tooLong) {
      if (!isKept) await keep(probe) // what decided is evidence, whatever else is
      throw notProven(run, probe)
    }
    await deps.clock.sleep(waitMs, signal)
  }
}

const digestsOf = (images: Proof['images']): Record<string, string> =>
  Object.fromEntries(Object.entries(images).flatMap(([service, one]) => (one?.digest ? [[service, one.digest]] : [])))

/** Of bad probes that tell nothing new, each so many-th asks what was printed meanwhile. */
const heardEvery = 4

/** How many probes that are not good and tell something new are kept as evidence. */
const mostNews = 30

const isOther = (probe: ProbeResult, before: ProbeResult | undefined): boolean =>
  probe.verdict !== before?.verdict || probe.reason !== before.reason

// A server that starts is good within seconds: asked soon at first, then less and less often.
const firstWaits = (spacingMs: number, bad: number): number => Math.min(spacingMs, (spacingMs / 60) * 2 ** Math.min(bad - 1, 10))

const isOnItsWay = ({ verdict }: ProbeResult): boolean => verdict === 'recovering' || verdict === 'upgrading'

// Before it was good for the first time, a server that does not answer is one that starts, as far as anybody knows.
const says = ({ verdict, reason }: ProbeResult, everGood: boolean, good: string): string => {
  const what = verdict === 'failed' && !everGood ? 'not good yet' : verdict
  return verdict === 'ok' ? good : `${what}: ${reason ?? 'no reason given'}`.slice(0, 300)
}

const notProven = ({ payload }: GuardedRun, { reason }: ProbeResult) =>
  problem(
    'PROBE_FAILED',
    `not ${payload.probe.consecutive} good probes in a row within ${duration(payload.probe.timeoutMs)}; the last: ${reason ?? 'good'}`,
  )

// A prober that breaks says as little for the box as one that finds it sick.
async function probeOnce({ deps, box, signal }: GuardedRun): Promise<ProbeResult> {
  signal.throwIfAborted()
  try {
    return await deps.servers.probe(box, signal)
  } catch (error) {
    signal.throwIfAborted()
    const sick = { ok: false, ms: 0, error: (error as Error).message }
    return {
      at: deps.clock.now().toISOString(),
      verdict: 'failed',
      components: { chatApi: sick, chatSync: sick, database: sick, objectStorage: sick },
      reason: sick.error,
    }
  }
}
