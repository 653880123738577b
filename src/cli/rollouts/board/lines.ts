import { duration, plural } from '../../../core/kit/index.ts'
import type { RolloutAction, RolloutEvent } from '../../../core/rollouts/index.ts'
import { clean, padEnd } from '../../kit/index.ts'
import { errorOf, hasFailed, isFinished, outcomeWord, queuedText, rolloutState, rolloutWord, stopText, waitOf, whyOf } from '../words.ts'
import { type BoardModel, boardModel } from './model.ts'
import { allBoxes, type BoardMessage, type BoardState, boxOf } from './state.ts'

/** The first lines: the current state. */
export function openingLines({ rollout, actions }: BoardState): string[] {
  const moving = allBoxes(actions).filter(({ status }) => status !== 'skipped').length
  const why = isStopped(rollout.status) ? whyOf(rollout) : undefined
  const queued = queuedText(rollout)
  return [
    `rollout ${rollout.id} is ${rolloutState(rollout)}: ${plural(moving, 'box', 'boxes')}, manifest revision ${rollout.manifestRevision}`,
    ...(why ? [`reason: ${clean(why)}`] : []),
    ...(queued ? [`waiting ${clean(queued)}`] : []),
    ...allBoxes(actions).flatMap((action) => waitLine(undefined, action) ?? []),
  ]
}

/** The log lines of a message, with the daemon's time; often none. */
export function linesOf(before: BoardState, message: BoardMessage, after: BoardState): string[] {
  if (message.kind === 'lost') return before.connected ? ['connection lost, reconnecting'] : []
  if (message.kind === 'connected') return before.connected ? [] : ['reconnected']
  const { event } = message
  const lines = [finishesNow(before, after) ? cancelledLine(after) : undefined, eventLine(before, event, after)]
  return lines.flatMap((line) => (line ? [`${event.at.slice(11, 19)}  ${line}`] : []))
}

const finishesNow = (before: BoardState, after: BoardState) => isFinished(after.rollout.status) && !isFinished(before.rollout.status)

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
  if (event.type === 'rollout.rolled_back') return stopText('rolled_back', why && clean(why)) // also of a finished rollout
  return stopText(event.status, why && clean(why))
}

/** Undefined for a phase without boxes. */
function phaseLine(after: BoardState, { status }: RolloutEvent): string | undefined {
  const { total = 0 } = boardModel(after, 0).phases.find((one) => one.phase === status) ?? {}
  return total > 0 ? `phase ${status}: ${plural(total, 'box', 'boxes')}` : undefined
}

/** The stages of a box in a log: before, during and after its downtime. */
type Stage = 'pending' | 'preparing' | 'updating' | 'rolling back' | 'finished'

const stages: Readonly<Record<string, Stage>> = {
  pending: 'pending',
  preflight: 'preparing',
  pulling: 'preparing',
  snapshotting: 'updating',
  updating: 'updating',
  probing: 'updating',
  rolling_back: 'rolling back',
}
const stageOf = (action: RolloutAction | undefined): Stage => (action ? (stages[action.status] ?? 'finished') : 'pending')
const order: readonly Stage[] = ['pending', 'preparing', 'updating', 'rolling back', 'finished']

/**
 * One line per stage of a box, not per step. A step back within an attempt adds no line, except for a retry. Cancelled boxes may be thousands and
 * share one line.
 */
function actionLine(before: RolloutAction | undefined, after: RolloutAction): string | undefined {
  if (after.undo && after.undo.status !== 'pending') return rollbackLine(before, after)
  const [was, is] = [stageOf(before), stageOf(after)]
  if (was === 'pending' && after.status === 'cancelled') return undefined
  const forward = order.indexOf(is) > order.indexOf(was)
  const anotherTry = was === 'finished' && is !== 'finished'
  const otherOutcome = was === 'finished' && is === 'finished' && before?.status !== after.status
  if (!(forward || anotherTry || otherOutcome) || is === 'pending') return waitLine(before, after)
  return `${after.tenantSlug}  ${is === 'finished' ? outcomeOf(after) : is}`
}

/** One line when a box starts to wait, and when the reason changes. */
function waitLine(before: RolloutAction | undefined, after: RolloutAction): string | undefined {
  const wait = waitOf(after)
  return wait === undefined || (before && wait === waitOf(before)) ? undefined : `${after.tenantSlug}  ${clean(wait)}`
}

/** `rolling back`, `rolled back in 40 s, downtime 22 s`, `rollback failed: … [PROBE_FAILED]` */
function rollbackLine(before: RolloutAction | undefined, after: RolloutAction): string | undefined {
  if (before?.undo?.status === after.undo?.status) return undefined
  return `${after.tenantSlug}  ${after.undo?.status === 'running' ? outcomeWord(after) : outcomeOf(after)}`
}

/** `succeeded in 18 s, downtime 12 s`, `rolled back: chat sync: … [PROBE_FAILED]` */
function outcomeOf(action: RolloutAction): string {
  const error = errorOf(action)
  if (hasFailed(action) && error) return `${outcomeWord(action)}: ${clean(error.message)} [${clean(error.code)}]`
  const { durationMs, fencedMs } = action
  const took = durationMs === null ? '' : ` in ${duration(durationMs)}`
  // Simulated hosts have their own clock: an impossible downtime is left out.
  const downtime = fencedMs && fencedMs <= (durationMs ?? 0) ? `, downtime ${duration(fencedMs)}` : ''
  return `${outcomeWord(action)}${took}${downtime}`
}

/** The last lines: the result and the next commands. The reason was logged when it happened. */
export function closingLines(state: BoardState): string[] {
  const { status } = state.rollout
  const model = boardModel(state, 0)
  const { next } = model
  const left = Math.max(0, ...next.map(({ label }) => label.length))
  return [
    ...(isStopped(status) ? [`${rolloutWord(status)}: ${updatedText(model)}${rollbackText(model.rollback)}`] : []),
    ...next.map(({ command, label }) => `  ${padEnd(label, left)}  ${command}`),
  ]
}

/** `22 of 24 boxes updated, 1 failed, 2 skipped` */
export const updatedText = ({ succeeded, failed, leftOut, total }: BoardModel): string =>
  [
    `${succeeded} of ${plural(total, 'box', 'boxes')} updated`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(leftOut > 0 ? [`${leftOut} skipped`] : []),
  ].join(', ')

const rollbackText = (rollback: BoardModel['rollback']): string =>
  rollback ? `, ${rollback.rolledBack} of ${rollback.total} rolled back` : ''

const isStopped = (status: BoardState['rollout']['status']) => isFinished(status) || status === 'paused'
