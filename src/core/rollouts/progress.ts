import type { Progress, UpdateStep } from '../boxes/index.ts'
import type { ActionStatus } from './action.ts'

/** What agents tell: the steps of the guarded update, and those of the pull before it. */
type ToldStep = UpdateStep | 'pull' | 'warm-snapshot' | 'migrate'

/** What each step means for the action. Lifting the fence ends the way there as well as the way back, so it means neither. */
const statusOfStep: Readonly<Record<ToldStep, ActionStatus | null>> = {
  pull: 'pulling',
  'warm-snapshot': 'pulling',
  prefetch: 'pulling',
  fence: 'snapshotting',
  stop: 'snapshotting',
  snapshot: 'snapshotting',
  'cold-copy': 'snapshotting',
  rewrite: 'updating',
  recreate: 'updating',
  migrate: 'updating',
  serve: 'updating',
  'first-ok': 'probing',
  probe: 'probing',
  commit: 'probing',
  unfence: null,
  'restore-stop': 'rolling_back',
  'restore-data': 'rolling_back',
  'restore-start': 'rolling_back',
  'restore-probe': 'rolling_back',
}

/**
 * Where an action stands after these steps, oldest first. Agents tell several at once, so the last alone would leave the status behind
 * its step. Nothing leads out of `rolling_back` but the end of the attempt.
 */
export const statusAfter = (steps: readonly string[], before: ActionStatus): ActionStatus =>
  steps.reduce<ActionStatus>((status, step) => (status === 'rolling_back' ? status : (meaning(step) ?? status)), before)

const meaning = (step: string): ActionStatus | null => (Object.hasOwn(statusOfStep, step) ? statusOfStep[step as ToldStep] : null)

/** Per cent are told in tens: events are kept, and nobody reads a hundred of them per box. */
const tens = (progress: Progress | null): number => Math.floor((progress?.percent ?? 0) / 10)

/** True when what was stored already tells the same. */
export const progressShown = (stored: Progress | null, now: Progress): boolean =>
  stored !== null && stored.step === now.step && stored.detail === now.detail && tens(stored) === tens(now)
