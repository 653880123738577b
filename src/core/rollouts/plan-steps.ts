import type { Progress, UpdateStep } from '../boxes/index.ts'
import type { CommandStatus } from '../hosts/index.ts'
import type { ActionError, ActionRollback, ActionStatus } from './action.ts'
import { explainPause, explainWait, type Held } from './pause-reason.ts'
import { type Phase, phaseOf, type RolloutState } from './rollout.ts'
import { assignSlots, longestFirst, type Parallelism, type Slot } from './scheduling.ts'

// What the engine does next, given what is stored and what the agents said. Invariants: no tenant starts while the rollout is not in
// its phase; never more in flight than the limits say; a box that somebody else holds waits, and its phase with it; an update that an
// agent took is ended by nothing but the agent's own answer.

/** The commands of one attempt, in their order. */
export type CommandStep = 'observe' | 'prefetch' | 'update' | 'restore'

export type EngineRollout = Pick<RolloutState, 'kind' | 'status'> &
  Readonly<{ id: string; failureThreshold: number; holdAfter: Phase | null }>

export type EngineAction = Slot &
  Readonly<{
    phase: Phase
    status: ActionStatus
    hostName: string
    waived: boolean
    undo: ActionRollback | null
    finishedAt: string | null
    /** Who else acts on the box at the moment, and for how long at most; or that its maintenance window is closed. */
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
  /** Whether an agent ever had it in hand. */
  taken: boolean
  /** Null until there is one; it may come after the command expired. */
  result: unknown
  error: ActionError | null
  /** Oldest first. */
  progress: readonly Progress[]
}>

export type Step =
  | Readonly<{ do: 'begin' | 'begin-undo'; slug: string }>
  /** `until` only where a time is known at which it can begin. */
  | Readonly<{ do: 'wait'; slug: string; why: string | null; until: string | null }>
  | Readonly<{ do: 'wait-undo'; slug: string; why: string | null }>
  | Readonly<{ do: 'examine' | 'pin' | 'judge'; slug: string; commandId: string; result: unknown }>
  | Readonly<{ do: 'examine-undo' | 'order-undo' | 'judge-undo'; slug: string; commandId: string; result: unknown }>
  | Readonly<{ do: 'show'; slug: string; commandId: string; status: ActionStatus; progress: Progress }>
  | Readonly<{ do: 'fail' | 'fail-undo'; slug: string; commandId: string; error: ActionError }>
  | Readonly<{ do: 'overdue'; slug: string; commandId: string }>
  | Readonly<{ do: 'pause'; reason: string }>
  | Readonly<{ do: 'advance'; from: Phase }>

const inFlight = new Set<ActionStatus>(['preflight', 'pulling', 'snapshotting', 'updating', 'probing', 'rolling_back'])
export const isInFlight = (status: ActionStatus): boolean => inFlight.has(status)
export const inFlightStatuses: readonly ActionStatus[] = [...inFlight]

export const failedStatuses: readonly ActionStatus[] = ['failed', 'rolled_back', 'rollback_failed']

/** Ended without its target, and by nothing but an operator's word to be passed over. */
export const isFailure = ({ status, waived }: Pick<EngineAction, 'status' | 'waived'>): boolean =>
  !waived && failedStatuses.includes(status)

/** All that can be done now; after it the engine looks again. Empty when there is nothing to do but wait. */
export function planSteps(
  rollout: EngineRollout,
  actions: readonly EngineAction[],
  commands: ReadonlyMap<string, EngineCommand>,
  limits: Parallelism,
): Step[] {
  const flying = actions.filter(({ status }) => isInFlight(status))
  const steps = flying.flatMap((action) => stepsFromCommand(action, action.commandId === null ? undefined : commands.get(action.commandId)))
  const phase = phaseOf(rollout)
  // What is in flight comes first: what it brings may forbid to begin more.
  if (!phase || steps.some((step) => step.do !== 'show')) return steps
  return [...steps, ...drive(rollout, phase, actions, flying, limits)]
}

const afterSuccess = { observe: 'examine', prefetch: 'pin', update: 'judge', restore: 'judge' } as const satisfies Record<
  CommandStep,
  Step['do']
>

/** What a command of an attempt has brought. */
export function stepsFromCommand(action: EngineAction, command: EngineCommand | undefined): Step[] {
  if (!command || !action.step) return []
  const { slug } = action
  const commandId = command.id
  if (command.result !== null) return [{ do: afterSuccess[action.step], slug, commandId, result: command.result }]
  if (command.status === 'failed') return [{ do: 'fail', slug, commandId, error: command.error ?? unexplained }]
  const shown = show(action, command)
  if (command.status !== 'expired') return shown
  if (!changesBox[action.step] || !command.taken) return [{ do: 'fail', slug, commandId, error: expired(action, command) }]
  return action.overdue ? shown : [...shown, { do: 'overdue', slug, commandId }]
}

/** Only its agent knows how such a command ends. */
const changesBox: Readonly<Record<CommandStep, boolean>> = { observe: false, prefetch: false, update: true, restore: true }

const unexplained: ActionError = { code: 'INTERNAL', message: 'the agent gave up without saying why: its log tells more' }

function expired({ slug, hostName, step }: EngineAction, { taken, error }: EngineCommand): ActionError {
  if (!taken) return { code: 'HOST_OFFLINE', message: `the agent of ${hostName} never fetched "${step}" for ${slug}: is it running?` }
  return error ?? { code: 'COMMAND_EXPIRED', message: `the agent of ${hostName} took "${step}" for ${slug} and did not finish it in time` }
}

function show(action: EngineAction, { id, progress: told }: EngineCommand): Step[] {
  const progress = told.at(-1)
  if (!progress) return []
  const status = statusAfter(
    told.map(({ step }) => step),
    action.status,
  )
  if (status === action.status && progressShown(action.progress, progress)) return []
  return [{ do: 'show', slug: action.slug, commandId: id, status, progress }]
}

function drive(
  rollout: EngineRollout,
  phase: Phase,
  actions: readonly EngineAction[],
  flying: readonly EngineAction[],
  limits: Parallelism,
): Step[] {
  const inPhase = actions.filter((action) => action.phase === phase)
  const failures = inPhase.filter(isFailure)
  const waiting = inPhase.filter(({ status }) => status === 'pending')
  const blocked = failures.length >= rollout.failureThreshold
  if (!blocked && waiting.length > 0) return begin(waiting, flying, limits)
  if (flying.length > 0) return []
  return failures.length > 0 ? [{ do: 'pause', reason: explainPause(phase, failures.toSorted(bySlug)) }] : [{ do: 'advance', from: phase }]
}

/** The reason names only some: which, is not left to the order in which a database finds them. */
const bySlug = (a: EngineAction, b: EngineAction): number => (a.slug < b.slug ? -1 : 1)

/** A held box takes no place from the others; that it waits, and for whom, is told once. */
function begin(waiting: readonly EngineAction[], flying: readonly EngineAction[], limits: Parallelism): Step[] {
  const free = waiting.filter(({ held }) => held === null)
  const turns = assignSlots(free.toSorted(longestFirst), flying, limits).map(({ slug }) => ({ do: 'begin', slug }) as const)
  const told = waiting.flatMap(({ slug, held, progress }) => {
    const why = held && explainWait(held)
    const until = held && 'window' in held ? held.until : null
    return why === (progress?.detail ?? null) ? [] : [{ do: 'wait', slug, why, until } as const]
  })
  const begun = new Set(turns.map(({ slug }) => slug))
  return [...turns, ...told.filter(({ slug }) => !begun.has(slug))]
}

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
const progressShown = (stored: Progress | null, now: Progress): boolean =>
  stored !== null && stored.step === now.step && stored.detail === now.detail && tens(stored) === tens(now)
