import type { ProbeResult, ProbeRule } from '../../core/boxes/index.ts'
import { type Clock, duration, problem } from '../../core/kit/index.ts'
import type { BoxServers, LocalBox } from '../ports/index.ts'

type Deps = Readonly<{ servers: BoxServers; clock: Clock }>
type Watch = Readonly<{ rule: ProbeRule; signal: AbortSignal; onProbe?: (probe: ProbeResult, good: number) => void }>

/** Probes until the rule is met and answers the last probe; a bad one starts the count again. Throws PROBE_FAILED with the last reason. */
export async function waitUntilStable({ servers, clock }: Deps, box: LocalBox, { rule, signal, onProbe }: Watch): Promise<ProbeResult> {
  const deadline = clock.monotonicMs() + rule.timeoutMs
  for (let good = 0; ; ) {
    signal.throwIfAborted()
    const probe = await servers.probe(box, signal)
    good = probe.verdict === 'ok' ? good + 1 : 0
    onProbe?.(probe, good)
    if (good >= rule.consecutive) return probe
    if (clock.monotonicMs() + rule.spacingMs > deadline) throw notStable(rule, probe)
    await clock.sleep(rule.spacingMs, signal)
  }
}

const notStable = (rule: ProbeRule, { reason }: ProbeResult) =>
  problem('PROBE_FAILED', `not ${rule.consecutive} good probes in a row within ${duration(rule.timeoutMs)}; the last: ${reason ?? 'good'}`)
