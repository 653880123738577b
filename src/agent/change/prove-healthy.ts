import type { ProbeResult } from '../../core/boxes/index.ts'
import { duration, problem } from '../../core/kit/index.ts'
import type { Baseline, ChangeRun } from './change-run.ts'
import { watchContainers } from './watch-containers.ts'

export type Proof = Readonly<{
  step: string
  /** As they were started, if that was recorded. */
  baseline: Baseline | undefined
  /** Expected images by service; a known digest must match. */
  images: Readonly<Record<string, Readonly<{ digest?: string | null | undefined }> | undefined>>
  /** A forward probe may recover until the command's deadline, a rollback's as long as two probe rules take. */
  direction: 'forward' | 'rollback'
}>

/**
 * The probe rule: this many good probes in a row at this spacing. Fails at once when a container is not what was started, or prints a fatal line.
 * While a database recovers or a schema is upgraded the rule's timeout does not count, up to the limit of `direction`. Throws PROBE_FAILED.
 */
export async function proveHealthy(run: ChangeRun, { step, baseline = {}, images, direction }: Proof): Promise<void> {
  const { deps, payload, signal } = run
  const { consecutive, spacingMs, timeoutMs } = payload.probe
  const now = deps.clock.monotonicMs
  const begun = now()
  const limitMs = direction === 'forward' ? payload.deadlineMs - run.elapsedMs() : 2 * timeoutMs
  const watch = watchContainers(run, { baseline, digests: digestsOf(images) })
  const record = (probe: ProbeResult) => run.note(step, { probe })
  let countsFrom = begun
  let everGood = false
  let last: ProbeResult | undefined
  for (let good = 0, bad = 0, recorded = 0; ; ) {
    await watch.assertUnharmed()
    const probe = await probeOnce(run)
    const isRecorded = probe.verdict === 'ok' || (differs(probe, last) && recorded++ < maxBadRecorded)
    if (isRecorded) await record(probe)
    last = probe
    good = probe.verdict === 'ok' ? good + 1 : 0
    bad = probe.verdict === 'ok' ? 0 : bad + 1
    everGood ||= good > 0
    run.context.progress({
      step,
      detail: detailOf(probe, everGood, `${good} of ${consecutive} good`),
      percent: (100 * good) / consecutive,
    })
    if (probe.verdict === 'ok') await watch.acceptRestarts()
    // A server that was good once is judged by its probes, not by its log.
    else if (!everGood && (isRecorded || bad % logEvery === 0)) await watch.assertNoFatalLine(probe)
    if (good >= consecutive) return watch.assertUnharmed()
    if (isRecovering(probe)) countsFrom = now()
    const waitMs = good > 0 ? spacingMs : firstWaits(spacingMs, bad)
    const isTooLong = now() + waitMs - countsFrom > timeoutMs || now() + waitMs - begun > Math.max(timeoutMs, limitMs)
    if (isTooLong) {
      if (!isRecorded) await record(probe) // the deciding probe is evidence in any case
      throw notProven(run, probe)
    }
    await deps.clock.sleep(waitMs, signal)
  }
}

const digestsOf = (images: Proof['images']): Record<string, string> =>
  Object.fromEntries(Object.entries(images).flatMap(([service, one]) => (one?.digest ? [[service, one.digest]] : [])))

/** Every fourth bad probe with an unchanged reason reads the log again. */
const logEvery = 4

/** Bad probes with a new reason that are recorded as evidence. */
const maxBadRecorded = 30

const differs = (probe: ProbeResult, before: ProbeResult | undefined): boolean =>
  probe.verdict !== before?.verdict || probe.reason !== before.reason

// A server that starts is good within seconds: probed quickly at first, then less and less often.
const firstWaits = (spacingMs: number, bad: number): number => Math.min(spacingMs, (spacingMs / 60) * 2 ** Math.min(bad - 1, 10))

const isRecovering = ({ verdict }: ProbeResult): boolean => verdict === 'recovering' || verdict === 'upgrading'

// Until the first good probe, a server that does not answer may still be starting.
const detailOf = ({ verdict, reason }: ProbeResult, everGood: boolean, good: string): string => {
  const what = verdict === 'failed' && !everGood ? 'not good yet' : verdict
  return verdict === 'ok' ? good : `${what}: ${reason ?? 'no reason given'}`.slice(0, 300)
}

const notProven = ({ payload }: ChangeRun, { reason }: ProbeResult) =>
  problem(
    'PROBE_FAILED',
    `not ${payload.probe.consecutive} good probes in a row within ${duration(payload.probe.timeoutMs)}; the last: ${reason ?? 'good'}`,
  )

/** A prober that throws counts as a bad probe. */
async function probeOnce({ deps, box, signal }: ChangeRun): Promise<ProbeResult> {
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
