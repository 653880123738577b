import type { ProbeResult, ProbeRule, Service } from '../../core/boxes/index.ts'
import { type Clock, duration, problem } from '../../core/kit/index.ts'

import type { BoxServers, ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'

type Waiting = Readonly<{ clock: Clock; everyMs: number; timeoutMs: number; signal: AbortSignal }>

/** Polls until the condition is true; returns false on timeout, throws on abort. */
export async function waitUntil({ clock, everyMs, timeoutMs, signal }: Waiting, isSo: () => Promise<boolean>): Promise<boolean> {
  const deadline = clock.monotonicMs() + timeoutMs
  for (;;) {
    signal.throwIfAborted()
    if (await isSo()) return true
    if (clock.monotonicMs() >= deadline) return false
    await clock.sleep(everyMs, signal)
  }
}

type StableDeps = Readonly<{ servers: BoxServers; clock: Clock }>
type Watch = Readonly<{ rule: ProbeRule; signal: AbortSignal; onProbe?: (probe: ProbeResult, good: number) => void }>

/** Probes until the rule is met and returns the last probe; a failed probe resets the count. Throws PROBE_FAILED with the last reason. */
export async function waitUntilStable(
  { servers, clock }: StableDeps,
  box: LocalBox,
  { rule, signal, onProbe }: Watch,
): Promise<ProbeResult> {
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
  problem(
    'PROBE_FAILED',
    `No ${rule.consecutive} consecutive good probes within ${duration(rule.timeoutMs)}; last result: ${reason ?? 'good'}`,
  )

type Deps = Readonly<{ engine: ContainerEngine; clock: Clock }>

const maxWaitMs = 10 * 60_000

/** Waits until a service answers. Throws BOX_UNHEALTHY with its last log line on a crash loop or timeout. */
export async function waitForService(
  { engine, clock, signal }: Deps & Readonly<{ signal: AbortSignal }>,
  box: LocalBox,
  { service, isUp }: Readonly<{ service: Service; isUp: () => Promise<boolean> }>,
): Promise<void> {
  const isCrashLooping = crashLoopDetector()
  const up = await waitUntil({ clock, everyMs: 1_000, timeoutMs: maxWaitMs, signal }, async () => {
    if (await isUp()) return true
    const container = (await engine.containers(box.project)).find((candidate) => candidate.service === service)
    if (container && isCrashLooping(container)) throw await crashLoop(engine, box, container)
    return false
  })
  if (!up) throw problem('BOX_UNHEALTHY', `${service} of ${box.slug} did not answer within ${duration(maxWaitMs)}`)
}

async function crashLoop(engine: ContainerEngine, box: LocalBox, { id, service }: ContainerState) {
  const said = lastLogLine(await engine.logs(id, 20))
  return problem('BOX_UNHEALTHY', `${service} of ${box.slug} is in a crash loop: ${(said ?? 'no log output').slice(0, 300)}`)
}

const most = 3

/**
 * Detects a crash loop during observation. Earlier restarts do not count: after a host reboot a server exits until its database has
 * recovered.
 */
export function crashLoopDetector(): (container: Pick<ContainerState, 'id' | 'restartCount'>) => boolean {
  const before = new Map<string, number>()
  return ({ id, restartCount }) => {
    // The engine resets the count on a manual start.
    const since = Math.min(before.get(id) ?? restartCount, restartCount)
    before.set(id, since)
    return restartCount - since >= most
  }
}

/** The last log line with text; Synapse ends its errors with a line of asterisks. */
export const lastLogLine = (log: string): string | undefined =>
  log
    .split('\n')
    .findLast((line) => /\w/.test(line))
    ?.trim()
