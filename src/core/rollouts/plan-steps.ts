import type { Progress, UpdateStep } from '../boxes/index.ts'
import type { CommandStatus } from '../hosts/index.ts'
import type { ActionError, ActionRollback, ActionStatus } from './action.ts'
import type { GateState } from './gate.ts'
import { letsPass, stopsRollout } from './gates.ts'
import { explainBakeStop, explainGateStop, explainPause, explainWait, type Failing, type Held } from './pause-reason.ts'
import { phaseOf } from './phases.ts'
import type { Phase, RolloutState } from './rollout.ts'
import { assignSlots, type Parallelism, type Slot, slowestFirst } from './scheduling.ts'

// The next steps of the engine, from what is stored and what agents reported. Invariants: no box begins while the rollout is not in its
// phase; never more boxes in flight than the limits allow; a box on hold waits, and its phase with it; only the agent's own report ends an
// update that the agent took.

/** The commands of one attempt, in their order. */
export type CommandStep = 'observe' | 'prefetch' | 'update' | 'restore'

/** `queuedBehind`: unfinished rollouts that it waits for before its first box. */
export type EngineRollout = Pick<RolloutState, 'kind' | 'status'> &
  Readonly<{ failureThreshold: number; queuedBehind?: readonly string[] | undefined }>

export type EngineAction = Slot &
  Readonly<{
    phase: Phase
    status: ActionStatus
    hostName: string
    waived: boolean
    rollback: ActionRollback | null
    finishedAt: string | null
    /** Another owner holds the box, or its maintenance window is closed. */
    held: Held | null
    step: CommandStep | null
    commandId: string | null
    overdue: boolean
    progress: Progress | null
    error: ActionError | null
  }>

export type EngineCommand = Readonly<{
  id: string
  status: CommandStatus
  /** True once an agent has taken it. */
  taken: boolean
  /** Null until it is reported; it may arrive after the command expired. */
  result: unknown
  error: ActionError | null
  /** Oldest first. */
  progress: readonly Progress[]
}>

type OfCommand<Do extends string> = Readonly<{ do: Do; slug: string; commandId: string }>

export type Step =
  | Readonly<{ do: 'begin-update' | 'begin-rollback'; slug: string }>
  | (OfCommand<'preflight-update' | 'order-update' | 'evaluate-update'> & Readonly<{ result: unknown }>)
  | (OfCommand<'preflight-rollback' | 'order-rollback' | 'evaluate-rollback'> & Readonly<{ result: unknown }>)
  | (OfCommand<'fail-update' | 'fail-rollback'> & Readonly<{ error: ActionError }>)
  | (OfCommand<'show-progress'> & Readonly<{ status: ActionStatus; progress: Progress }>)
  /** `until` is null where the time at which it can begin is unknown. */
  | Readonly<{ do: 'show-wait'; slug: string; why: string | null; until: string | null }>
  | Readonly<{ do: 'show-rollback-wait'; slug: string; why: string | null }>
  | OfCommand<'mark-overdue'>
  | Readonly<{ do: 'pause'; reason: string }>
  | Readonly<{ do: 'begin-bake' | 'advance'; from: Phase }>
  | Readonly<{ do: 'stop-bake'; from: Phase; reason: string }>

const inFlight = new Set<ActionStatus>(['preflight', 'pulling', 'snapshotting', 'updating', 'probing', 'rolling_back'])
export const isInFlight = (status: ActionStatus): boolean => inFlight.has(status)
export const inFlightStatuses: readonly ActionStatus[] = [...inFlight]

export const failedStatuses: readonly ActionStatus[] = ['failed', 'rolled_back', 'rollback_failed']

/** True for an action that ended without its target and that no operator has skipped. */
export const isFailure = ({ status, waived }: Pick<EngineAction, 'status' | 'waived'>): boolean =>
  !waived && failedStatuses.includes(status)

/**
 * The watching time after a phase with updated boxes, before the next box may begin. `until` is null before it begins; `failing` are boxes that
 * the rollout has updated. `isRestarting`: an operator restarts one of them, and the bake waits for the end. `gates` are asked from `until` on.
 */
export type Bake = Readonly<{
  until: string | null
  now: string
  failing: readonly Failing[]
  isRestarting: boolean
  gates: readonly GateState[]
}>

type Observed = Readonly<{
  rollout: EngineRollout
  /** Undefined where the phase is not followed by one, or is not complete. */
  bake?: Bake | undefined
  actions: readonly EngineAction[]
  commands: ReadonlyMap<string, EngineCommand>
}>

/** Every step that is possible now; empty when there is nothing to do but wait. */
export function planSteps({ rollout, bake, actions, commands }: Observed, limits: Parallelism): Step[] {
  const flying = actions.filter(({ status }) => isInFlight(status))
  const steps = flying.flatMap((action) => stepsFromCommand(action, action.commandId === null ? undefined : commands.get(action.commandId)))
  const phase = phaseOf(rollout)
  // Reports come first: what they change may forbid to begin more boxes.
  if (!phase || rollout.queuedBehind?.length || steps.some((step) => step.do !== 'show-progress')) return steps
  return [...steps, ...stepsOfPhase({ ...rollout, phase, bake }, { actions, flying }, limits)]
}

const afterSuccess = {
  observe: 'preflight-update',
  prefetch: 'order-update',
  update: 'evaluate-update',
  restore: 'evaluate-update',
} as const satisfies Record<CommandStep, Step['do']>

/** The steps that follow from the command of an action in flight. */
export function stepsFromCommand(action: EngineAction, command: EngineCommand | undefined): Step[] {
  if (!command || !action.step) return []
  const { slug } = action
  const commandId = command.id
  if (command.result !== null) return [{ do: afterSuccess[action.step], slug, commandId, result: command.result }]
  if (command.status === 'failed') return [{ do: 'fail-update', slug, commandId, error: command.error ?? unexplained }]
  const shown = progressSteps(action, command)
  if (command.status !== 'expired') return shown
  if (!changesBox[action.step] || !command.taken) return [{ do: 'fail-update', slug, commandId, error: expired(action, command) }]
  return action.overdue ? shown : [...shown, { do: 'mark-overdue', slug, commandId }]
}

/** Only its agent knows how such a command ends. */
const changesBox: Readonly<Record<CommandStep, boolean>> = { observe: false, prefetch: false, update: true, restore: true }

const unexplained: ActionError = { code: 'INTERNAL', message: 'the agent reported a failure without a reason. fix: read its log' }

function expired({ slug, hostName, step }: EngineAction, { taken, error }: EngineCommand): ActionError {
  if (!taken) {
    const message = `the agent of ${hostName} never fetched "${step}" for ${slug}. fix: check that the agent runs`
    return { code: 'HOST_OFFLINE', message }
  }
  return error ?? { code: 'COMMAND_EXPIRED', message: `the agent of ${hostName} took "${step}" for ${slug} and did not finish it in time` }
}

function progressSteps(action: EngineAction, { id, progress: reported }: EngineCommand): Step[] {
  const progress = reported.at(-1)
  if (!progress) return []
  const steps = reported.map(({ step }) => step)
  const status = statusAfter(steps, action.status)
  if (status === action.status && isShown(action.progress, progress)) return []
  return [{ do: 'show-progress', slug: action.slug, commandId: id, status, progress }]
}

type Boxes = Readonly<{ actions: readonly EngineAction[]; flying: readonly EngineAction[] }>

/** Begins boxes of the phase, or pauses, watches or advances it once none is in flight. */
function stepsOfPhase(
  { phase, failureThreshold, bake }: EngineRollout & { phase: Phase; bake: Bake | undefined },
  { actions, flying }: Boxes,
  limits: Parallelism,
): Step[] {
  const inPhase = actions.filter((action) => action.phase === phase)
  const failures = inPhase.filter(isFailure)
  const waiting = inPhase.filter(({ status }) => status === 'pending')
  if (failures.length < failureThreshold && waiting.length > 0) return beginSteps(waiting, flying, limits)
  if (flying.length > 0) return []
  return failures.length > 0 ? [{ do: 'pause', reason: explainPause(phase, failures.toSorted(bySlug)) }] : stepsOfBake(phase, bake)
}

function stepsOfBake(from: Phase, bake: Bake | undefined): Step[] {
  if (!bake) return [{ do: 'advance', from }]
  if (bake.until === null) return [{ do: 'begin-bake', from }]
  if (bake.failing.length > 0) return [{ do: 'stop-bake', from, reason: explainBakeStop(from, bake.failing.toSorted(bySlug)) }]
  const stopping = bake.gates.filter(stopsRollout)
  if (stopping.length > 0) return [{ do: 'stop-bake', from, reason: explainGateStop(from, stopping) }]
  return bake.until <= bake.now && !bake.isRestarting && bake.gates.every(letsPass) ? [{ do: 'advance', from }] : []
}

/** The reason names only some boxes: always the same ones, whatever the order in which the database finds them. */
const bySlug = (a: { slug: string }, b: { slug: string }): number => (a.slug < b.slug ? -1 : 1)

/** A held box takes no slot. Its reason is shown once. */
function beginSteps(waiting: readonly EngineAction[], flying: readonly EngineAction[], limits: Parallelism): Step[] {
  const free = waiting.filter(({ held }) => held === null)
  const begun = assignSlots(free.toSorted(slowestFirst), flying, limits).map(({ slug }) => slug)
  const waits = waiting.flatMap(({ slug, held, progress }) => {
    const why = held && explainWait(held)
    const until = held && 'window' in held ? held.until : null
    return begun.includes(slug) || why === (progress?.detail ?? null) ? [] : [{ do: 'show-wait', slug, why, until } as const]
  })
  return [...begun.map((slug) => ({ do: 'begin-update', slug }) as const), ...waits]
}

/** Steps that agents report: those of the guarded update and those of the prefetch before it. */
type ReportedStep = UpdateStep | 'pull' | 'warm-snapshot' | 'migrate'

/** The status of the action during each step. Null: lifting the fence ends an update as well as a restore. */
const statusOfStep: Readonly<Record<ReportedStep, ActionStatus | null>> = {
  pull: 'pulling',
  'warm-snapshot': 'pulling',
  prefetch: 'pulling',
  'hot-copy': 'pulling',
  fence: 'snapshotting',
  stop: 'snapshotting',
  snapshot: 'snapshotting',
  'cold-copy': 'snapshotting',
  upgrade: 'updating',
  rewrite: 'updating',
  recreate: 'updating',
  migrate: 'updating',
  serve: 'updating',
  'quick-probe': 'probing',
  'check-rollback': 'probing',
  probe: 'probing',
  commit: 'probing',
  unfence: null,
  'confirm-rollback': 'probing',
  refence: 'rolling_back',
  'restore-stop': 'rolling_back',
  'restore-data': 'rolling_back',
  'restore-start': 'rolling_back',
  'restore-probe': 'rolling_back',
}

/**
 * The status after these steps, oldest first. Agents report several at once, so the last alone is not enough. Only the end of the attempt
 * leaves `rolling_back`.
 */
export const statusAfter = (steps: readonly string[], before: ActionStatus): ActionStatus =>
  steps.reduce<ActionStatus>((status, step) => (status === 'rolling_back' ? status : (statusDuring(step) ?? status)), before)

const statusDuring = (step: string): ActionStatus | null => (Object.hasOwn(statusOfStep, step) ? statusOfStep[step as ReportedStep] : null)

/** Percentages are shown in steps of ten: each one is a stored event. */
const tens = (progress: Progress | null): number => Math.floor((progress?.percent ?? 0) / 10)

/** True when the stored progress already shows the same. */
const isShown = (stored: Progress | null, now: Progress): boolean =>
  stored !== null && stored.step === now.step && stored.detail === now.detail && tens(stored) === tens(now)
