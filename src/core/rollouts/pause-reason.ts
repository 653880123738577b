import { holdText } from '../boxes/index.ts'
import { duration, printable, shortDigests } from '../kit/index.ts'
import { momentText } from '../wall-clock/index.ts'
import type { ActionError, ActionStatus } from './action.ts'
import type { GateState } from './gate.ts'
import { answerText, limitsText } from './gates.ts'
import type { Phase } from './rollout.ts'

// Why a rollout or a box waits, as operators read it: one sentence with the boxes and the reason, and one that begins with "Next:" and
// says what may be done. Clients show the first and offer their own commands for the second.

/** Another owner holds the box until then at the latest. */
type HoldOwner = Readonly<{ holder: string; until: string }>
/** The maintenance window of the box is closed, or too short; `window` is its time zone. `until` is null where it is never open long enough. */
export type ClosedWindow = Readonly<{ window: string } & ({ until: string } | { until: null; neededMs: number })>
export type Held = HoldOwner | ClosedWindow

type Failure = Readonly<{ slug: string; status: ActionStatus; error: ActionError | null }>

/** Why a phase stopped. */
export function explainPause(phase: Phase, failures: readonly Failure[]): string {
  const shown = failures.slice(0, 3).map(({ slug, status, error }) => `${slug} ${outcome(status)}${error ? ` (${errorText(error)})` : ''}`)
  const more = failures.length > shown.length ? `; and ${failures.length - shown.length} more` : ''
  return `${phase} stopped: ${shown.join('; ')}${more}. Next: ${choices(failures)}`
}

const outcomes: Partial<Record<ActionStatus, string>> = {
  rolled_back: 'failed and was rolled back',
  rollback_failed: 'failed and could not be rolled back; it is stopped',
}
const outcome = (status: ActionStatus): string => outcomes[status] ?? 'failed'

function choices(failures: readonly Failure[]): string {
  const [it, box] = failures.length === 1 ? ['it', 'the box'] : ['them', 'the boxes']
  if (mustSkipFailures(failures))
    return `repair by hand what could not be rolled back, then resume the rollout without ${box} (skipFailed), or abort it.`
  return `resume the rollout to retry ${it}, resume without ${it} (skipFailed), or abort it.`
}

/** True where a resume requires `skipFailed`: a box whose rollback failed stays stopped until an operator repairs it, and is not retried. */
export const mustSkipFailures = (failures: readonly Pick<Failure, 'status'>[]): boolean =>
  failures.some(({ status }) => status === 'rollback_failed')

/** Why a rollout pauses for an update that was not reported in time. */
export const explainOverdue = (slug: string, host: string): string =>
  `${slug}: the agent of ${host} has not reported the end of its update in time. The agent commits or rolls back on its own, and a late ` +
  'report still counts. Next: check the host and the box, then resume the rollout.'

/** Why a rollout pauses after `holdAfter`. */
export const explainHold = (phase: Phase): string =>
  `held after ${phase}, as requested at its creation. Next: resume the rollout to continue.`

/** True for a rollout that paused at its `holdAfter`. */
export const isHeld = ({ holdAfter, pauseReason }: Readonly<{ holdAfter: Phase | null; pauseReason: string | null }>): boolean =>
  holdAfter !== null && pauseReason === explainHold(holdAfter)

/** True while the rollout watches a phase, and where a failing box or a gate has stopped that. */
export const isBaking = ({ bakeUntil, pauseReason }: Readonly<{ bakeUntil: string | null; pauseReason: string | null }>): boolean =>
  bakeUntil !== null && (pauseReason === null || /^(bake|gates) after /.test(pauseReason))

/** An updated box that does not stay well, and why. */
export type Failing = Readonly<{ slug: string; why: string }>

/** Why a rollout pauses while it watches a phase. */
export function explainBakeStop(phase: Phase, failing: readonly Failing[]): string {
  const shown = failing.slice(0, 3).map(({ slug, why }) => `${slug} (${oneLine(why)})`)
  const more = failing.length > shown.length ? `; and ${failing.length - shown.length} more` : ''
  return (
    `bake after ${phase} stopped: ${shown.join('; ')}${more}. Next: repair and resume the rollout, which starts the bake again, ` +
    'promote it to continue without, or abort it.'
  )
}

/** Why a rollout pauses at gates that failed, or that have no answer. */
export const explainGateStop = (phase: Phase, gates: readonly GateState[]): string =>
  `gates after ${phase} stopped: ${gates.map((gate) => `${gate.name} must be ${limitsText(gate)} ${oneLine(answerOf(gate))}`).join('; ')}. ` +
  'Next: resume the rollout, which bakes and asks again, promote it to continue without, or abort it.'

const answerOf = (gate: GateState): string => `${gate.noAnswer ? 'but has' : 'and is'} ${answerText(gate)}`

/** Why a staged rollout pauses when an emergency starts. */
export const explainEmergencyPause = (emergencyId: string, cveId: string | null): string =>
  `paused for the emergency ${emergencyId}${cveId === null ? '' : ` (${cveId})`}; boxes in flight finish. Next: resume the rollout after the ` +
  'emergency; it checks each remaining box again and skips boxes that are further than its plan.'

/** Why pending rollbacks are cancelled when an emergency starts. */
export const explainEmergencyStop = (emergencyId: string, cveId: string | null): string =>
  `rollback cancelled: the emergency ${emergencyId}${cveId === null ? '' : ` (${cveId})`} has started, and the rollback might reintroduce the ` +
  'vulnerability. Next: resume the rollback after the emergency; it refuses boxes that would become vulnerable again.'

/** Why a box waits. */
export const explainWait = (held: Held): string => ('window' in held ? explainWindow(held) : explainHolder(held))

const explainWindow = (closed: ClosedWindow): string =>
  closed.until === null
    ? `its update needs about ${duration(closed.neededMs)}, but its maintenance window is never open that long. fix: extend it with ` +
      '`tenantry tenants window`, or pause the rollout and skip the box when you resume it (`--skip`)'
    : `waits for its maintenance window, opens at ${momentText(closed.until, closed.window)}`

const explainHolder = (holder: HoldOwner): string => `${holdText(holder)}; begins when it is free`

/** The reason without the errors of these boxes, for views that list them beside it. */
export const reasonWithout = (reason: string, errors: readonly (ActionError | null)[]): string =>
  errors.reduce((text, error) => (error ? text.replaceAll(` (${errorText(error)})`, '') : text), reason)

const errorText = ({ code, message }: ActionError): string => `${code}: ${oneLine(message)}`

export const oneLine = (message: string): string => {
  const line = printable(shortDigests(message.replace(/\s+/g, ' '))).replace(/[.\s]+$/, '')
  return line.length > 300 ? `${line.slice(0, 299)}…` : line
}
