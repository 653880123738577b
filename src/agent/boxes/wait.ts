import type { ProbeResult, ProbeRule, Service } from '../../core/boxes/index.ts'
import { type Clock, duration, problem } from '../../core/kit/index.ts'

import type { BoxServers, ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'

type Waiting = Readonly<{ clock: Clock; everyMs: number; timeoutMs: number; signal: AbortSignal }>

/** Asks until the answer is yes; false when the time is over. An abort throws. */
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

/** Probes until the rule is met and answers the last probe; a bad one starts the count again. Throws PROBE_FAILED with the last reason. */
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
  problem('PROBE_FAILED', `not ${rule.consecutive} good probes in a row within ${duration(rule.timeoutMs)}; the last: ${reason ?? 'good'}`)

type Deps = Readonly<{ engine: ContainerEngine; clock: Clock }>

const patienceMs = 10 * 60_000

/** Until a service answers. Throws BOX_UNHEALTHY with its last words when it dies again and again, or does not answer in time. */
export async function waitForService(
  { engine, clock }: Deps,
  { signal }: Readonly<{ signal: AbortSignal }>,
  box: LocalBox,
  service: Service,
  isUp: () => Promise<boolean>,
): Promise<void> {
  const keepsDying = deathWatch()
  const up = await waitUntil({ clock, everyMs: 1_000, timeoutMs: patienceMs, signal }, async () => {
    if (await isUp()) return true
    const container = (await engine.containers(box.project)).find((candidate) => candidate.service === service)
    if (container && keepsDying(container)) throw await gaveUp(engine, box, container.id, service)
    return false
  })
  if (!up) throw problem('BOX_UNHEALTHY', `${service} of ${box.slug} did not answer in time`)
}

async function gaveUp(engine: ContainerEngine, box: LocalBox, id: string, service: Service) {
  const said = lastSaid(await engine.logs(id, 20))
  return problem('BOX_UNHEALTHY', `${service} of ${box.slug} dies again and again: ${(said ?? 'it says nothing').slice(0, 300)}`)
}

const most = 3

/**
 * Whether a container dies again and again while it is looked at. Deaths before the first look say nothing: after a reboot of the host a server
 * dies until its database has recovered, and the engine waits up to a minute before it starts it again.
 */
export function deathWatch(): (container: Pick<ContainerState, 'id' | 'restartCount'>) => boolean {
  const before = new Map<string, number>()
  return ({ id, restartCount }) => {
    // The engine counts from 0 again when somebody starts it by hand.
    const since = Math.min(before.get(id) ?? restartCount, restartCount)
    before.set(id, since)
    return restartCount - since >= most
  }
}

/** The last line of a log that says something. Synapse frames what it says with a line of asterisks, so the very last says nothing. */
export const lastSaid = (log: string): string | undefined =>
  log
    .split('\n')
    .findLast((line) => /\w/.test(line))
    ?.trim()
