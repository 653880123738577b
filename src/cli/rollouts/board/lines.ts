import { duration, plural } from '../../../core/kit/index.ts'
import type { RolloutAction, RolloutEvent } from '../../../core/rollouts/index.ts'
import { clean, padEnd } from '../../kit/index.ts'
import { errorOf, hasFailed, isFinished, outcomeWord, rolloutState, rolloutWord, waitOf, whyOf } from '../words.ts'
import { type BoardModel, boardModel } from './model.ts'
import { allBoxes, type BoardMessage, type BoardState, boxOf } from './state.ts'

/** The first line: where it stands when one begins to look. */
export function openingLines({ rollout, actions }: BoardState): string[] {
  const moving = allBoxes(actions).filter(({ status }) => status !== 'skipped').length
  const why = isAtRest(rollout.status) ? whyOf(rollout) : undefined
  return [
    `rollout ${rollout.id} is ${rolloutState(rollout.status)}: ${plural(moving, 'box', 'boxes')}, manifest revision ${rollout.manifestRevision}`,
    ...(why ? [`because ${clean(why)}`] : []),
    ...allBoxes(actions).flatMap((action) => waitLine(undefined, action) ?? []),
  ]
}

/** What a message is worth telling in a log: nothing, or a line or two with the daemon's time. */
export function linesOf(before: BoardState, message: BoardMessage, after: BoardState): string[] {
  if (message.kind === 'lost') return before.connected ? ['connection lost, trying again'] : []
  if (message.kind === 'connected') return before.connected ? [] : ['connected again']
  const { event } = message
  const lines = [endsNow(before, after) ? cancelledLine(after) : undefined, eventLine(before, event, after)]
  return lines.flatMap((line) => (line ? [`${event.at.slice(11, 19)}  ${line}`] : []))
}

const endsNow = (before: BoardState, after: BoardState) => isFinished(after.rollout.status) && !isFinished(before.rollout.status)

/** So many are named; of more it is enough to know how many. */
const mostNamed = 3

/** Boxes whose turn never came, however many, in one line when the rollout ends. */
function cancelledLine({ actions }: BoardState): string | undefined {
  const slugs = allBoxes(actions).flatMap(({ status, tenantSlug }) => (status === 'cancelled' ? [tenantSlug] : []))
  if (slugs.length === 0) return undefined
  return `cancelled before their turn: ${slugs.length > mostNamed ? plural(slugs.length, 'box', 'boxes') : slugs.join(', ')}`
}

function eventLine(before: BoardState, event: RolloutEvent, after: BoardState): string | undefined {
  if (event.action)
    return actionLine(boxOf(before.actions, event.action.tenantSlug), boxOf(after.actions, event.action.tenantSlug) as RolloutAction)
  const why = whyOf({ pauseReason: event.reason, error: null })
  const because = why ? `: ${clean(why)}` : ''
  if (event.type === 'rollout.started') return `started`
  if (event.type === 'rollout.resumed') return `resumed in ${event.status}`
  if (event.type === 'rollout.phase') return phaseLine(after, event)
  if (event.type === 'rollout.created') return undefined
  return `${rolloutWord(event.status)}${because}`
}

/** A phase without boxes passes at once: nothing to tell. */
function phaseLine(after: BoardState, { status }: RolloutEvent): string | undefined {
  const { total = 0 } = boardModel(after, 0).phases.find((one) => one.phase === status) ?? {}
  return total > 0 ? `phase ${status}: ${plural(total, 'box', 'boxes')}` : undefined
}

/** What a reader of a log cares about: no outage yet, the outage, the way back, the outcome. */
type Stage = 'waiting' | 'getting ready' | 'updating' | 'rolling back' | 'over'

const stages: Readonly<Record<string, Stage>> = {
  pending: 'waiting',
  preflight: 'getting ready',
  pulling: 'getting ready',
  snapshotting: 'updating',
  updating: 'updating',
  probing: 'updating',
  rolling_back: 'rolling back',
}
const stageOf = (action: RolloutAction | undefined): Stage => (action ? (stages[action.status] ?? 'over') : 'waiting')
const order: readonly Stage[] = ['waiting', 'getting ready', 'updating', 'rolling back', 'over']

/**
 * One line per stage of a box, never one per step; a step back within an attempt (a retry aside) tells nothing new. Those that are cancelled
 * before their turn may be thousands, and are told of together.
 */
function actionLine(before: RolloutAction | undefined, after: RolloutAction): string | undefined {
  if (after.undo && after.undo.status !== 'pending') return undoLine(before, after)
  const [was, is] = [stageOf(before), stageOf(after)]
  if (was === 'waiting' && after.status === 'cancelled') return undefined
  const forward = order.indexOf(is) > order.indexOf(was)
  const anotherTry = was === 'over' && is !== 'over'
  const otherOutcome = was === 'over' && is === 'over' && before?.status !== after.status
  if (!(forward || anotherTry || otherOutcome) || is === 'waiting') return waitLine(before, after)
  return `${after.tenantSlug}  ${is === 'over' ? outcomeOf(after) : is}`
}

/** `waits for its maintenance window, opens at …`: once, and again when it is for something else. */
function waitLine(before: RolloutAction | undefined, after: RolloutAction): string | undefined {
  const wait = waitOf(after)
  return wait === undefined || (before && wait === waitOf(before)) ? undefined : `${after.tenantSlug}  ${clean(wait)}`
}

/** `going back`, `brought back in 40 s, fenced 22 s`, `not brought back: … [PROBE_FAILED]` */
function undoLine(before: RolloutAction | undefined, after: RolloutAction): string | undefined {
  if (before?.undo?.status === after.undo?.status) return undefined
  return `${after.tenantSlug}  ${after.undo?.status === 'running' ? outcomeWord(after) : outcomeOf(after)}`
}

/** `succeeded in 18 s, fenced 12 s`, `rolled back: chat sync: … [PROBE_FAILED]` */
function outcomeOf(action: RolloutAction): string {
  const error = errorOf(action)
  if (hasFailed(action) && error) return `${outcomeWord(action)}: ${clean(error.message)} [${clean(error.code)}]`
  const { durationMs, fencedMs } = action
  const took = durationMs === null ? '' : ` in ${duration(durationMs)}`
  // On a simulated host time has its own pace: what cannot be is not told.
  const fenced = fencedMs && fencedMs <= (durationMs ?? 0) ? `, fenced ${duration(fencedMs)}` : ''
  return `${outcomeWord(action)}${took}${fenced}`
}

/** The last lines: what came of it, and exactly what to type next. Why was told when it happened. */
export function closingLines(state: BoardState): string[] {
  const { status } = state.rollout
  const { settled, total, back, next } = boardModel(state, 0)
  const left = Math.max(0, ...next.map(({ does }) => does.length))
  return [
    ...(isAtRest(status) ? [`${rolloutWord(status)}, ${settled} of ${plural(total, 'box', 'boxes')} settled${backText(back)}`] : []),
    ...next.map(({ type, does }) => `  ${padEnd(does, left)}  ${type}`),
  ]
}

const backText = (back: BoardModel['back']): string => (back ? `, ${back.undone} of ${back.total} brought back` : '')

const isAtRest = (status: BoardState['rollout']['status']) => isFinished(status) || status === 'paused'
