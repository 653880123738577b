import { holdText } from '../boxes/index.ts'
import { duration, printable, shortDigests } from '../kit/index.ts'
import { momentText } from '../wall-clock/index.ts'
import type { ActionError, ActionStatus } from './action.ts'
import type { Phase } from './rollout.ts'

// What people read when a rollout stands still: one sentence that says which boxes and why, and one that says what may be done now.
// Programs show the first and offer their own commands; the second begins with "Next:".

/** Somebody else acts on the box, until then at the latest. */
type HoldOwner = Readonly<{ holder: string; until: string }>
/** Its maintenance window is closed, or too little is left of it; `window` is the zone by whose clock it opens. Without `until` it never does for so long. */
export type ClosedWindow = Readonly<{ window: string } & ({ until: string } | { until: null; neededMs: number })>
export type Held = HoldOwner | ClosedWindow

type Failure = Readonly<{ slug: string; status: ActionStatus; error: ActionError | null }>

/** Why a phase stopped. */
export function explainPause(phase: Phase, failures: readonly Failure[]): string {
  const told = failures.slice(0, 3).map(({ slug, status, error }) => `${slug} ${outcome(status)}${error ? ` (${spoken(error)})` : ''}`)
  const more = failures.length > told.length ? `; and ${failures.length - told.length} more` : ''
  return `${phase} stopped: ${told.join('; ')}${more}. Next: ${choices(failures)}`
}

const outcomes: Partial<Record<ActionStatus, string>> = {
  rolled_back: 'failed and was restored',
  rollback_failed: 'could not be restored and rests stopped',
}
const outcome = (status: ActionStatus): string => outcomes[status] ?? 'failed'

function choices(failures: readonly Failure[]): string {
  const [it, box] = failures.length === 1 ? ['it', 'the box'] : ['them', 'the boxes']
  // A box whose restore failed rests stopped until somebody has looked at it: it is not tried again by a resume.
  if (failures.some(({ status }) => status === 'rollback_failed'))
    return `mend by hand what could not be restored, then resume the rollout without ${box} (skipFailed), or abort it.`
  return `resume the rollout to try ${it} again, resume without ${it} (skipFailed), or abort it.`
}

/** Why it pauses for an update of which nothing is heard. */
export const explainOverdue = (slug: string, host: string): string =>
  `${slug}: its update is under way on ${host}, and the agent has not said in time how it ended; it decides alone, and its answer will be ` +
  'taken. Next: look at the host and the box, then resume the rollout.'

/** Why it pauses where it was told to. */
export const explainHold = (phase: Phase): string => `held after ${phase}, as asked when it was made. Next: resume the rollout to go on.`

/** Why a staged rollout pauses when an emergency starts. */
export const explainEmergencyPause = (emergencyId: string, cveId: string | null): string =>
  `paused for the emergency ${emergencyId}${cveId === null ? '' : ` (${cveId})`}; its boxes under way finish. Next: once the emergency is ` +
  'over, resume the rollout: it looks at each remaining box anew and passes over those that are further by then.'

/** Why boxes that were to be brought back stay as they are when an emergency starts. */
export const explainEmergencyStop = (emergencyId: string, cveId: string | null): string =>
  `left as it is: the emergency ${emergencyId}${cveId === null ? '' : ` (${cveId})`} has started, and its way back might lead to the hole. ` +
  'Next: once the emergency is over, resuming the undo brings back what does not open that hole again.'

/** Why a box does not begin at its turn. */
export const explainWait = (held: Held): string => ('window' in held ? explainWindow(held) : explainHolder(held))

const explainWindow = (closed: ClosedWindow): string =>
  closed.until === null
    ? `its update needs about ${duration(closed.neededMs)}, and its maintenance window is never open for that long: make it longer with ` +
      '`tenantry tenants window`, or pause the rollout and leave the box out when you resume it (`--skip`)'
    : `waits for its maintenance window, opens at ${momentText(closed.until, closed.window)}`

const explainHolder = (holder: HoldOwner): string => `${holdText(holder)}; it begins when it is free`

const spoken = ({ code, message }: ActionError): string => `${code}: ${oneLine(message)}`

const oneLine = (message: string): string => {
  const line = printable(shortDigests(message.replace(/\s+/g, ' '))).replace(/[.\s]+$/, '')
  return line.length > 300 ? `${line.slice(0, 299)}…` : line
}
