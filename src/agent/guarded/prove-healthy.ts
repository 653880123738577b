import type { ProbeResult } from '../../core/boxes/index.ts'
import { duration, problem } from '../../core/kit/index.ts'
import type { ContainerState } from '../ports/index.ts'
import type { Baseline, GuardedRun } from './guarded-run.ts'

export type Proof = Readonly<{
  step: string
  baseline: Baseline
  /** What must run, where the registry's word is known. */
  digests: Readonly<Record<string, string>>
  /** The longest that a box on its way is waited for in all. */
  patienceMs: number
}>

/**
 * The probe rule: so many good probes in a row, so far apart. A container that ended, was restarted, was replaced or runs another image
 * fails at once. While a database recovers or a schema is upgraded the rule's time does not count, up to `patienceMs`.
 * Throws PROBE_FAILED.
 */
export async function proveHealthy(run: GuardedRun, proof: Proof): Promise<void> {
  const { needs, payload, signal } = run
  const { consecutive, spacingMs, timeoutMs } = payload.probe
  const now = needs.clock.monotonicMs
  const begun = now()
  let counts = begun
  let last: ProbeResult | undefined
  for (let good = 0, bad = 0; ; ) {
    await needUnharmed(run, proof)
    const probe = await probeOnce(run)
    if (probe.verdict === 'ok' || probe.verdict !== last?.verdict) await run.note(proof.step, { probe })
    last = probe
    good = probe.verdict === 'ok' ? good + 1 : 0
    bad = probe.verdict === 'ok' ? 0 : bad + 1
    run.context.progress({ step: proof.step, detail: says(probe, good, consecutive), percent: (100 * good) / consecutive })
    if (good >= consecutive) return needUnharmed(run, proof)
    if (isOnItsWay(probe)) counts = now()
    const waitMs = good > 0 ? spacingMs : firstWaits(spacingMs, bad)
    const tooLong = now() + waitMs - counts > timeoutMs || now() + waitMs - begun > Math.max(timeoutMs, proof.patienceMs)
    if (tooLong) throw notProven(run, probe)
    await needs.clock.sleep(waitMs, signal)
  }
}

// A server that starts is good within seconds: asked soon at first, then less and less often.
const firstWaits = (spacingMs: number, bad: number): number => Math.min(spacingMs, (spacingMs / 60) * 2 ** Math.min(bad - 1, 10))

const isOnItsWay = ({ verdict }: ProbeResult): boolean => verdict === 'recovering' || verdict === 'upgrading'

const says = ({ verdict, reason }: ProbeResult, good: number, consecutive: number): string =>
  verdict === 'ok' ? `${good} of ${consecutive} good` : `${verdict}: ${reason ?? 'no reason given'}`.slice(0, 300)

const notProven = ({ payload }: GuardedRun, { reason }: ProbeResult) =>
  problem(
    'PROBE_FAILED',
    `not ${payload.probe.consecutive} good probes in a row within ${duration(payload.probe.timeoutMs)}; the last: ${reason ?? 'good'}`,
  )

// A prober that breaks says as little for the box as one that finds it sick.
async function probeOnce({ needs, box, signal }: GuardedRun): Promise<ProbeResult> {
  signal.throwIfAborted()
  try {
    return await needs.inside.probe(box, signal)
  } catch (error) {
    signal.throwIfAborted()
    const sick = { ok: false, ms: 0, error: (error as Error).message }
    return {
      at: needs.clock.now().toISOString(),
      verdict: 'failed',
      components: { chatApi: sick, chatSync: sick, database: sick, objectStorage: sick },
      reason: sick.error,
    }
  }
}

async function needUnharmed({ needs, box }: GuardedRun, { baseline, digests }: Proof): Promise<void> {
  const containers = await needs.engine.containers(box.project)
  for (const service of Object.keys(baseline)) {
    const container = containers.find((candidate) => candidate.service === service)
    const harm = harmTo(container, baseline[service], digests[service])
    if (harm && container) throw problem('PROBE_FAILED', `${service} of ${box.slug} ${harm}${await lastLine(needs.engine, container)}`)
    if (harm) throw problem('PROBE_FAILED', `${service} of ${box.slug} ${harm}`)
  }
}

function harmTo(
  container: ContainerState | undefined,
  before: Baseline[string] | undefined,
  digest: string | undefined,
): string | undefined {
  if (!container) return 'is gone'
  if (container.state !== 'running') return `is ${container.state} (exit code ${container.exitCode ?? 'unknown'})`
  // An engine that starts anew counts from zero: fewer restarts than before are no harm.
  if (container.id !== before?.id || container.restartCount > before.restartCount) return 'was restarted or replaced'
  return digest !== undefined && container.digest !== digest ? `runs ${container.digest} and not ${digest}` : undefined
}

async function lastLine(engine: GuardedRun['needs']['engine'], { id }: ContainerState): Promise<string> {
  const text = await engine.logs(id, 5).catch(() => '')
  const line = text.trim().split('\n').at(-1)
  return line ? `: ${line.slice(0, 200)}` : ''
}
