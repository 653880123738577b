import { type ProbeResult, quickRule, steadyFailureMsOf } from '../../core/boxes/index.ts'
import { duration, problem } from '../../core/kit/index.ts'
import { type BoxEvents, followBox } from './follow-box.ts'
import type { Baseline, ChangeRun } from './run.types.ts'
import { steadyFailure } from './steady-failure.ts'
import { watchContainers } from './watch-containers.ts'

export type Proof = Readonly<{
  step: string
  /** As they were started, if that was recorded. */
  baseline: Baseline | undefined
  /** Expected images by service; a known digest must match. */
  images: Readonly<Record<string, Readonly<{ digest?: string | null | undefined }> | undefined>>
  /** A forward probe may recover until the command's deadline, a rollback's as long as two probe rules take. */
  direction: 'forward' | 'rollback'
  /** Good probes in quick succession are enough. */
  isQuick?: boolean
  /** Users are on the box: once it was good, one that fails is not watched for long. */
  isOpen?: boolean
  /** It was good before this proof. */
  wasGood?: boolean
  /** Runs beside each probe that may be the last. Never throws. */
  besideLast?: () => Promise<void>
}>

/**
 * The probe rule: this many good probes in a row at this spacing. Fails at once when a container is not what was started, or prints a fatal line,
 * and soon when a server keeps failing in the same way. While a database recovers or a schema is upgraded the rule's timeout does not count, up
 * to the limit of `direction`. Throws PROBE_FAILED.
 */
export async function proveHealthy(run: ChangeRun, proof: Proof): Promise<void> {
  const { baseline = {}, images } = proof
  const watch = watchContainers(run, { baseline, digests: digestsOf(images) })
  const events = followBox(run, watch)
  try {
    await probeUntilProven(run, proof, { watch, events })
  } finally {
    events.close()
  }
}

type Watch = ReturnType<typeof watchContainers>

async function probeUntilProven(
  run: ChangeRun,
  proof: Proof,
  { watch, events }: Readonly<{ watch: Watch; events: BoxEvents }>,
): Promise<void> {
  const { step, direction, isQuick = false } = proof
  const { deps, payload } = run
  const { consecutive, spacingMs, timeoutMs } = isQuick ? quickRule(payload.probe) : payload.probe
  const now = deps.clock.monotonicMs
  const begun = now()
  const limitMs = direction === 'forward' ? payload.deadlineMs - run.elapsedMs() : 2 * timeoutMs
  let everGood = proof.wasGood === true
  // A server that starts is no server that fails.
  const isOpen = () => everGood && proof.isOpen === true
  const steady = steadyFailure(run, () => (direction === 'rollback' ? Number.POSITIVE_INFINITY : maxSteadyMs(run, isOpen())))
  const record = (probe: ProbeResult) => run.note(step, { probe })
  const waitFor = firstWaits(payload.probe.spacingMs)
  let countsFrom = begun
  let last: ProbeResult | undefined
  if (!everGood) await events.untilChatAnswers(waitFor(3))
  for (let good = 0, bad = 0, recorded = 0; ; ) {
    await watch.assertContainersUnchanged()
    const probedAt = now()
    const isLast = good === consecutive - 1
    const [probe] = await Promise.all([
      events.during((signal) => probeOnce({ ...run, signal })),
      ...(isLast && proof.besideLast ? [proof.besideLast()] : []),
    ])
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
    // Once a server was good, its probes decide, not its log.
    else if (!everGood && (isRecorded || bad % logEvery === 0)) await watch.assertNoFatalLine(probe)
    if (good >= consecutive) return watch.assertContainersUnchanged()
    if (isRecovering(probe) || watch.isHostRestarting()) countsFrom = now()
    const steadyLeftMs = watch.isHostRestarting() ? Number.POSITIVE_INFINITY : await steady.leftMs(probe)
    // Good probes begin this far apart.
    const waitMs = good > 0 ? Math.max(0, spacingMs - (now() - probedAt)) : waitFor(bad)
    const isTooLong = now() + waitMs - countsFrom > timeoutMs || now() + waitMs - begun > Math.max(timeoutMs, limitMs)
    if (isTooLong || steadyLeftMs <= 0) {
      if (!isRecorded) await record(probe) // the deciding probe is evidence in any case
      throw steadyLeftMs <= 0 ? failsSteadily(run, probe, steady.maxMs()) : notProven(run, probe)
    }
    if (good > 0) await events.during((signal) => deps.clock.sleep(waitMs, signal))
    // Probes from before the server answered say nothing about how long to wait.
    else if (await events.untilChatAnswers(Math.min(waitMs, steadyLeftMs))) bad = 0
  }
}

/** Users on a failing box are not left waiting for long. */
const maxOpenFailureMs = 15_000

const maxSteadyMs = ({ payload }: ChangeRun, isOpen: boolean): number =>
  isOpen ? Math.min(maxOpenFailureMs, steadyFailureMsOf(payload.probe)) : steadyFailureMsOf(payload.probe)

const digestsOf = (images: Proof['images']): Record<string, string> =>
  Object.fromEntries(Object.entries(images).flatMap(([service, one]) => (one?.digest ? [[service, one.digest]] : [])))

/** Every fourth bad probe with an unchanged reason reads the log again. */
const logEvery = 4

/** Bad probes with a new reason that are recorded as evidence. */
const maxBadRecorded = 30

const differs = (probe: ProbeResult, before: ProbeResult | undefined): boolean =>
  probe.verdict !== before?.verdict || probe.reason !== before.reason

// A server that starts is good within seconds: probed quickly at first, then less and less often.
const firstWaits =
  (spacingMs: number) =>
  (bad: number): number =>
    Math.min(spacingMs, 1_000 * 2 ** Math.min(bad - 1, 10))

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

const failsSteadily = ({ box }: ChangeRun, { reason }: ProbeResult, forMs: number) =>
  problem('PROBE_FAILED', `${box.slug} failed its probes in the same way for ${duration(forMs)}: ${reason ?? 'no reason given'}`)

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
