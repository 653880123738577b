import type { ChangeRun } from './run.types.ts'
import type { Watch } from './watch-containers.ts'

/** Follows a box while it is probed: its containers by the engine's events, its chat server by whether it answers. */
export type BoxEvents = Readonly<{
  /** Does some work; throws PROBE_FAILED, and aborts the work, as soon as a container is not what was started. */
  during<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value>
  /**
   * Returns true as soon as the chat server has begun to answer, also since the last call; else false after this time. One that answered then
   * is given the whole time.
   */
  untilChatAnswers(maxMs: number): Promise<boolean>
  close(): void
}>

/** An engine that shuts down stops all containers, and then does not answer. */
const shutdownMs = 3_000

export function followBox(run: ChangeRun, watch: Watch): BoxEvents {
  const { clock } = run.deps
  const over = new AbortController()
  const signal = AbortSignal.any([run.signal, over.signal])
  const bell = followEvents(run, signal)

  const assertContainersUnchanged = async () => {
    try {
      await watch.assertContainersUnchanged()
    } catch (error) {
      if (!watch.hasStopped()) throw error
      await clock.sleep(shutdownMs, signal)
      await watch.assertContainersUnchanged()
    }
  }

  const during = async <Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value> => {
    const stop = new AbortController()
    const done = work(AbortSignal.any([signal, stop.signal])).then((value) => ({ value }))
    try {
      for (;;) {
        const first = await Promise.race([done, bell.next()])
        if (first) return first.value
        await assertContainersUnchanged()
      }
    } finally {
      stop.abort('ended')
    }
  }

  let wasAnswering = false
  const untilChatAnswers = async (maxMs: number, within: AbortSignal): Promise<boolean> => {
    const hadAnswered = wasAnswering
    wasAnswering = await answersWithin(run, maxMs, within)
    if (hadAnswered && wasAnswering) await clock.sleep(maxMs, within)
    return !hadAnswered && wasAnswering
  }

  return {
    during,
    untilChatAnswers: (maxMs) => during((within) => untilChatAnswers(maxMs, within)),
    close: () => over.abort('ended'),
  }
}

const firstPollMs = 100

/** Polls a server that starts, at first ten times a second; 5 % of its time to start are lost at most. */
async function answersWithin({ deps, box }: ChangeRun, maxMs: number, signal: AbortSignal): Promise<boolean> {
  const { clock, servers } = deps
  const begun = clock.monotonicMs()
  const elapsed = () => clock.monotonicMs() - begun
  const answers = () => servers.chatAnswers(box).catch(() => false)
  for (;;) {
    if (await answers()) return true
    signal.throwIfAborted()
    if (elapsed() >= maxMs) return false
    await clock.sleep(Math.min(Math.max(firstPollMs, elapsed() / 20), maxMs - elapsed()), signal)
    signal.throwIfAborted()
  }
}

/** Rings when a container of the box starts or dies. An engine that reports no events is ignored: containers are also read between probes. */
function followEvents({ deps, box }: ChangeRun, signal: AbortSignal): { next(): Promise<undefined> } {
  let ring: () => void = () => undefined
  let rung = newRing()
  function newRing() {
    return new Promise<undefined>((resolve) => {
      ring = () => resolve(undefined)
    })
  }
  const follow = async () => {
    for await (const { project } of deps.engine.events(signal)) if (project === box.project.name) ring()
  }
  follow().catch(() => undefined)
  return {
    next: async () => {
      await rung
      rung = newRing()
      return undefined
    },
  }
}
