import type { Clock } from '../../core/kit/index.ts'
import type { CommandRecord } from './journal.ts'

/** Milliseconds since the command began, over restarts of the agent. */
export type Stopwatch = () => number

/**
 * Runs on the monotonic clock. What passed while no agent ran is taken from the wall clock as the journal has it;
 * a wall clock that was set back adds nothing, one that was set forward ends the update early, which is the safe side.
 */
export function stopwatch(clock: Clock, { begunAt, entries }: CommandRecord): Stopwatch {
  const last = entries.at(-1) ?? { at: begunAt, elapsedMs: 0 }
  const away = Math.max(0, clock.now().getTime() - Date.parse(last.at))
  const start = clock.monotonicMs()
  return () => last.elapsedMs + away + clock.monotonicMs() - start
}
