import type { FirstTold } from '../hosts/index.ts'
import type { AttemptStep } from './action.ts'

/** One command of an attempt: its steps as they were first told, and its end; null while nothing is known of it. */
export type CommandSteps = Readonly<{ steps: readonly FirstTold[]; endedAt: string | null }>

/**
 * The steps of an attempt over all its commands: each lasts until the next one of its command, the last one until the command's end. All times
 * are those of the agent's clock; what would come out negative (its clock was set back) counts as nothing.
 */
export const attemptSteps = (commands: readonly CommandSteps[]): AttemptStep[] =>
  commands.flatMap(({ steps, endedAt }) =>
    steps.map(({ step, at }, index) => ({ step, at, durationMs: between(at, steps[index + 1]?.at ?? endedAt) })),
  )

function between(from: string, to: string | null): number | null {
  const ms = to === null ? Number.NaN : Date.parse(to) - Date.parse(from)
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/**
 * When a command that took so long by its agent's own clock ended, by that same clock; null when the agent did not say. When the daemon heard
 * of it says nothing: two clocks that disagree would turn a short step into a long one.
 */
export function endOfCommand(steps: readonly FirstTold[], durationMs: number | null): string | null {
  const begun = Date.parse(steps[0]?.at ?? '')
  return durationMs === null || Number.isNaN(begun) ? null : new Date(begun + durationMs).toISOString()
}
