import { duration, plural } from '../../../core/kit/index.ts'
import {
  allBoxes,
  type BoardMessage,
  type BoardState,
  bakeText,
  boardModel,
  boxOf,
  currentRollout,
  errorOf,
  fenceEndText,
  type GateState,
  gateText,
  hasFailed,
  isInProgress,
  isOver,
  outcomeWord,
  queuedText,
  type RolloutAction,
  type RolloutEvent,
  rolloutState,
  rolloutWord,
  stepWordIn,
  stillAskedText,
  stopText,
  updatedText,
  waitOf,
  whyOf,
} from '../../../core/rollouts/index.ts'
import { clean, padEnd } from '../../kit/index.ts'

/** The first lines: the current state, with the boxes that are in progress, wait or failed. */
export function openingLines(state: BoardState): string[] {
  const { actions } = state
  const rollout = currentRollout(state)
  const moving = allBoxes(actions).filter(({ status }) => status !== 'skipped').length
  const why = isStopped(rollout.status) ? whyOf(rollout) : undefined
  const queued = queuedText(rollout) ?? bakeText(rollout)
  return [
    `rollout ${rollout.id} is ${rolloutState(rollout)}: ${plural(moving, 'box', 'boxes')}, manifest revision ${rollout.manifestRevision}`,
    ...(why ? [`reason: ${clean(why)}`] : []),
    ...(queued ? [`waiting ${clean(queued)}`] : []),
    ...(isStopped(rollout.status) || rollout.status === 'queued' ? [] : [updatedText(boardModel(state, 0))]),
    ...allBoxes(actions).flatMap((action) => (isOfInterest(action) ? (actionLine(undefined, action) ?? []) : [])),
  ]
}

/** Updated and skipped boxes are counted instead of named. */
const isOfInterest = (action: RolloutAction): boolean => action.status === 'pending' || isInProgress(action) || hasFailed(action)

/** The log lines of a message, with the daemon's time; often none. */
export function linesOf(before: BoardState, message: BoardMessage, after: BoardState): string[] {
  if (message.kind === 'lost') return before.connected ? ['connection lost, reconnecting'] : []
  if (message.kind === 'connected') return before.connected ? [] : ['reconnected']
  const { event } = message
  const lines = [finishesNow(before, after) ? cancelledLine(after) : undefined, eventLine(before, event, after)]
  return lines.flatMap((line) => (line ? [`${event.at.slice(11, 19)}  ${line}`] : []))
}

const finishesNow = (before: BoardState, after: BoardState) => isOver(after.rollout.status) && !isOver(before.rollout.status)

/** More boxes are counted instead of named. */
const maxNamed = 3

/** One line for all cancelled boxes when the rollout finishes. */
function cancelledLine({ actions }: BoardState): string | undefined {
  const slugs = allBoxes(actions).flatMap(({ status, tenantSlug }) => (status === 'cancelled' ? [tenantSlug] : []))
  if (slugs.length === 0) return undefined
  return `cancelled: ${slugs.length > maxNamed ? plural(slugs.length, 'box', 'boxes') : slugs.join(', ')}`
}

function eventLine(before: BoardState, event: RolloutEvent, after: BoardState): string | undefined {
  if (event.action)
    return actionLine(boxOf(before.actions, event.action.tenantSlug), boxOf(after.actions, event.action.tenantSlug) as RolloutAction)
  const why = whyOf({ pauseReason: event.reason, error: null })
  if (event.type === 'rollout.started') return `started`
  if (event.type === 'rollout.resumed') return `resumed in ${event.status}`
  if (event.type === 'rollout.phase') return phaseLine(after, event)
  if (event.type === 'rollout.created') return undefined
  if (event.type === 'rollout.gates') return gatesLine(before.rollout.gates, after.rollout.gates)
  if (event.type === 'rollout.baking') return `waiting ${bakeText(after.rollout)}`
  if (event.type === 'rollout.rolled_back') return stopText('rolled_back', why && clean(why)) // also of a finished rollout
  return stopText(event.status, why && clean(why))
}

/** Gates whose state is another than before; further answers within the limits add no line. */
function gatesLine(before: readonly GateState[], after: readonly GateState[]): string | undefined {
  const states = new Map(before.map(({ name, state, missed }) => [name, `${state} ${missed}`]))
  const changed = after.filter(({ name, state, missed }) => states.get(name) !== `${state} ${missed}`)
  return changed.length > 0 ? `gate ${changed.map((gate) => clean(gateText(gate))).join('; gate ')}` : undefined
}

/** Undefined for a phase without boxes. */
function phaseLine(after: BoardState, { status }: RolloutEvent): string | undefined {
  const { total = 0 } = boardModel(after, 0).phases.find((one) => one.phase === status) ?? {}
  return total > 0 ? `phase ${status}: ${plural(total, 'box', 'boxes')}` : undefined
}

/** One line per step and outcome of a box. Percentages and probe counts add none, and cancelled boxes, of which there may be thousands, share one. */
function actionLine(before: RolloutAction | undefined, after: RolloutAction): string | undefined {
  const text = stateOf(after)
  if (text === undefined || (before && text === stateOf(before))) return undefined
  return `${after.tenantSlug}  ${text}${before && isInProgress(before) ? '' : maintenanceText(after)}`
}

/** Once for each update: when its maintenance, which begins later, will end. */
const maintenanceText = (action: RolloutAction): string =>
  isInProgress(action) && action.fenceMode !== null && action.fenceMode !== 'none'
    ? ` (maintenance will end ${fenceEndText(action.fenceMode)})`
    : ''

/** The wait, step or outcome of a box; undefined for one that is only pending or cancelled. */
function stateOf(action: RolloutAction): string | undefined {
  if (action.status === 'cancelled') return undefined
  if (action.status === 'pending') return waitOf(action) && clean(waitOf(action) as string)
  // A box that waits for its rollback is shown as updated until that begins.
  if (!isInProgress(action)) return outcomeOf(action.rollback?.status === 'pending' ? { ...action, rollback: null } : action)
  const step = action.progress && stepWordIn(action, clean(action.progress.step))
  const wait = waitOf(action)
  return `${outcomeWord(action)}${step ? `: ${step}` : ''}${wait ? `: ${clean(wait)}` : ''}`
}

/** `succeeded in 18 s, downtime 12 s`, `rolled back: chat sync: … [PROBE_FAILED]` */
function outcomeOf(action: RolloutAction): string {
  const error = errorOf(action)
  if (hasFailed(action) && error) return `${outcomeWord(action)}: ${clean(error.message)} [${clean(error.code)}]`
  const { durationMs, fencedMs, expectedFenceMs } = action
  const took = durationMs === null ? '' : ` in ${duration(durationMs)}`
  // Simulated hosts have their own clock: an impossible downtime is left out.
  const expected = expectedFenceMs ? ` (expected ${duration(expectedFenceMs)})` : ''
  const downtime = fencedMs && fencedMs <= (durationMs ?? 0) ? `, downtime ${duration(fencedMs)}${expected}` : ''
  return `${outcomeWord(action)}${took}${downtime}`
}

/** The last lines: the result and the next commands. The reason was logged when it happened. */
export function closingLines(state: BoardState): string[] {
  const { rollout } = state
  const { status } = rollout
  const model = boardModel(state, 0)
  const { next } = model
  const left = Math.max(0, ...next.map(({ label }) => label.length))
  return [
    ...(isStopped(status) ? [`${rolloutWord(model.status)}: ${updatedText(model)}`] : []),
    ...(rollout.stillAsked ? [stillAskedText(rollout.stillAsked)] : []),
    ...next.map(({ command, label }) => `  ${padEnd(label, left)}  ${command}`),
  ]
}

const isStopped = (status: BoardState['rollout']['status']) => isOver(status) || status === 'paused'
