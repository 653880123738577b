import type { ProbeResult } from '../../core/boxes/index.ts'
import type { ChangeRun } from './run.types.ts'

/** How long a server may still fail in the same way before it counts as hopeless. */
export type SteadyFailure = Readonly<{ leftMs(probe: ProbeResult): Promise<number>; maxMs(): number }>

/**
 * Recovery, a schema upgrade, another reason and progress of background updates begin the time again. An infinite `maxMs` gives a
 * server all the time of its probe rule.
 */
export function steadyFailure(run: ChangeRun, maxMs: () => number): SteadyFailure {
  const now = run.deps.clock.monotonicMs
  let since: number | undefined
  let reason: string | undefined
  let progress: string | null | undefined
  const begin = (probe: ProbeResult) => {
    since = now()
    reason = probe.reason
    progress = undefined
  }
  const leftMs = async (probe: ProbeResult): Promise<number> => {
    if (maxMs() === Number.POSITIVE_INFINITY) return maxMs()
    if (probe.verdict !== 'failed') {
      since = undefined
      return maxMs()
    }
    if (since === undefined || probe.reason !== reason) begin(probe)
    const left = () => maxMs() - (now() - (since as number))
    if (left() > maxMs() / 2) return left()
    // From half of the time on, because it starts a process in a container.
    if (progress === undefined) progress = await backgroundProgress(run)
    else if (left() <= 0) {
      const present = await backgroundProgress(run)
      if (present !== progress && present !== null) {
        begin(probe)
        progress = present
      }
    }
    return left()
  }
  return { leftMs, maxMs }
}

/** Null where the database does not answer, or nothing is pending. */
const backgroundProgress = async ({ deps, box }: ChangeRun): Promise<string | null> =>
  (await deps.servers.databaseFacts(box).catch(() => undefined))?.backgroundProgress ?? null
