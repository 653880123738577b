import { plural } from '../kit/index.ts'
import type { RolloutAction } from './action.ts'
import { type BoardState, daemonNowMs } from './board-state.ts'
import { plannedBy, remainingMs, type Tally, tallyOf } from './board-tally.ts'
import { isOver } from './phases.ts'
import type { Phase, Rollout } from './rollout.ts'
import { listedState } from './rollout-text.ts'
import {
  bakeText,
  errorOf,
  type NextStep,
  nextSteps,
  outcomeWord,
  queuedText,
  stateTint,
  statusWord,
  stepWordIn,
  type Tint,
  whyOf,
} from './words.ts'

export type PhaseState = 'done' | 'running' | 'paused' | 'failed' | 'waiting' | 'empty' | 'rolling back' | 'rolled back'
export type PhaseLine = Readonly<{
  phase: Phase
  state: PhaseState
  succeeded: number
  failed: number
  /** Boxes that are rolled back with the rollout. */
  rollback: Readonly<{ rolledBack: number; total: number }> | undefined
  total: number
}>
export type RunningBox = Readonly<{
  slug: string
  phase: Phase
  step: string
  detail: string
  elapsedMs: number
  expectedMs: number | undefined
}>
export type Failure = Readonly<{ slug: string; outcome: string; reason: string; waived: boolean }>

/** The content of the board, without layout. */
export type BoardModel = Readonly<{
  id: string
  /** `rolled_back` also for a finished rollout whose boxes are rolled back. */
  status: BoardState['rollout']['status']
  /** The status in few words, and its colour. */
  word: string
  tint: Tint
  elapsedMs: number | undefined
  manifestRevision: number
  phases: readonly PhaseLine[]
  /** 0 to 1; running boxes count in part. A rollback lowers it. */
  progress: number
  /** The share of `progress` that failed. */
  failedShare: number
  succeeded: number
  failed: number
  /** Boxes that an operator left out, and those of them that had failed. */
  leftOut: number
  failedLeftOut: number
  total: number
  /** Progress of the rollback of boxes. */
  rollback: Readonly<{ rolledBack: number; ended: number; total: number }> | undefined
  /** Boxes that wait for their maintenance windows, and the first opening. */
  waiting: Readonly<{ boxes: number; until: string }> | undefined
  /** The unfinished rollouts that it waits for before its first box, or the end of a bake. */
  queued: string | undefined
  etaMs: number | undefined
  running: readonly RunningBox[]
  failures: readonly Failure[]
  reason: string | undefined
  next: readonly NextStep[]
  connected: boolean
}>

/** Whole percents of boxes updated, running ones in part: a failed box is over, and not updated. */
export const updatedPercent = ({ progress, failedShare }: Pick<BoardModel, 'progress' | 'failedShare'>): number =>
  Math.max(0, Math.floor((progress - failedShare) * 100 + 1e-9))

export function boardModel(state: BoardState, localNowMs: number): BoardModel {
  const { plan } = state
  const rollout = currentRollout(state)
  const nowMs = daemonNowMs(state, localNowMs)
  const { settled, succeeded, failed, leftOut, failedLeftOut, total, running, failures, openings, ...tally } = tallyOf(state)
  const rollback = rollbackOf(tally)
  return {
    id: rollout.id,
    status: rollback ? 'rolled_back' : rollout.status,
    word: listedState({ ...rollout, bakeUntil: null, counts: { ...rollout.counts, leftOut: 0 } }),
    tint: stateTint({ ...rollout, counts: { ...rollout.counts, leftOut: 0 } }),
    elapsedMs: rollout.startedAt ? wholeSeconds(endOf(state, nowMs) - Date.parse(rollout.startedAt)) : undefined,
    manifestRevision: rollout.manifestRevision,
    phases: plan.phases.map(({ phase }) => phaseLine(state, phase)),
    progress: rollback ? (succeeded + failed) / total : progressOf(state, nowMs),
    failedShare: total === 0 ? 0 : failed / total,
    ...{ succeeded, failed, leftOut: leftOut.length, failedLeftOut, total },
    rollback,
    waiting: rollout.status === 'paused' ? undefined : waitingOf(openings, nowMs),
    queued: settled === 0 && running.length === 0 && !isOver(rollout.status) ? queuedText(rollout) : bakeText(rollout),
    etaMs: remainingMs(state, nowMs),
    running: running.toSorted(byStart).map(runningBoxAt(state, nowMs)),
    failures: failures.toSorted(openFirst).map(failureOf),
    reason: whyOf(rollout),
    next: nextSteps(
      rollout,
      failures.filter(({ waived }) => !waived),
      { count: rollback ? 0 : leftOut.length, slugs: leftOut },
    ),
    connected: state.connected,
  }
}

function waitingOf(hours: readonly string[], nowMs: number): BoardModel['waiting'] {
  const later = hours.filter((hour) => Date.parse(hour) > nowMs).sort()
  return later[0] === undefined ? undefined : { boxes: later.length, until: later[0] }
}

function rollbackOf({ rollbacks: { total, done, failed } }: Pick<Tally, 'rollbacks'>): BoardModel['rollback'] {
  return total === 0 ? undefined : { rolledBack: done, ended: done + failed, total }
}

/** The record with the counts of now: events carry boxes and no counts. */
export function currentRollout(state: BoardState): Rollout {
  const { rollbacks, leftOut, succeeded } = tallyOf(state)
  const { rollout } = state
  const counts = { ...rollout.counts, succeeded, leftOut: leftOut.length, rollback: rollbacks.total === 0 ? null : rollbacks }
  return { ...rollout, counts }
}

const endOf = ({ rollout }: BoardState, nowMs: number) => (rollout.finishedAt ? Date.parse(rollout.finishedAt) : nowMs)

function phaseLine(state: BoardState, phase: Phase): PhaseLine {
  const { rollout } = state
  const tally = tallyOf(state).phases.get(phase)
  if (!tally) return { phase, succeeded: 0, failed: 0, rollback: undefined, total: 0, state: 'empty' }
  const { total, settled, succeeded, failed, hasOpenFailure, running, rollbacks } = tally
  const counts = { phase, succeeded, failed, rollback: rollbackOf({ rollbacks }), total }
  if (hasOpenFailure) return { ...counts, state: 'failed' }
  if (rollbacks.pending + rollbacks.running > 0) return { ...counts, state: 'rolling back' }
  if (rollbacks.done > 0) return { ...counts, state: 'rolled back' }
  if (settled === total) return { ...counts, state: failed > 0 ? 'failed' : 'done' }
  if (rollout.status === 'paused' && rollout.previousStatus === phase) return { ...counts, state: 'paused' }
  return { ...counts, state: rollout.status === phase || running.length > 0 ? 'running' : 'waiting' }
}

/** A running box counts by elapsed over expected time, at most 90 %. */
function progressOf(state: BoardState, nowMs: number): number {
  const { settled, total, running } = tallyOf(state)
  if (total === 0) return 1
  const planned = plannedBy(state.plan)
  const share = ({ startedAt, tenantSlug }: RolloutAction) => {
    if (!startedAt) return 0
    return Math.min(0.9, Math.max(0, nowMs - Date.parse(startedAt)) / Math.max(1, planned.get(tenantSlug)?.expectedMs ?? 1))
  }
  return running.reduce((sum, action) => sum + share(action), settled) / total
}

/** Rounds down to seconds, at least one. */
const wholeSeconds = (ms: number) => Math.max(1000, Math.floor(ms / 1000) * 1000)

const byStart = (a: RolloutAction, b: RolloutAction) => (a.startedAt ?? '').localeCompare(b.startedAt ?? '')
const openFirst = (a: RolloutAction, b: RolloutAction) =>
  Number(a.waived) - Number(b.waived) || (b.finishedAt ?? '').localeCompare(a.finishedAt ?? '')

const runningBoxAt =
  ({ plan }: Pick<BoardState, 'plan'>, nowMs: number) =>
  ({ tenantSlug, phase, status, rollback, progress, startedAt }: RolloutAction): RunningBox => ({
    slug: tenantSlug,
    phase,
    step: rollback ? outcomeWord({ status, rollback }) : statusWord(status),
    detail: stepDetail({ status, progress }),
    elapsedMs: wholeSeconds(startedAt ? nowMs - Date.parse(startedAt) : 0),
    expectedMs: plannedBy(plan).get(tenantSlug)?.expectedMs,
  })

/** `2 of 3 good`, `pull images: 40 %`. */
function stepDetail({ status, progress }: Pick<RolloutAction, 'status' | 'progress'>): string {
  if (!progress) return ''
  const how = progress.detail ?? (progress.percent === undefined ? undefined : `${Math.round(progress.percent)} %`)
  return [stepWordIn({ status }, progress.step), how].filter(Boolean).join(': ')
}

const failureOf = (action: RolloutAction): Failure => {
  const error = errorOf(action)
  return {
    slug: action.tenantSlug,
    outcome: outcomeWord(action),
    reason: error ? `${error.message} [${error.code}]` : '',
    waived: action.waived,
  }
}

/**
 * `21 of 24 boxes updated, 1 failed, 2 failed and skipped`; boxes skipped before their update are apart from those. Each box counts once.
 * After a rollback `23 of 24 boxes rolled back, 1 failed`.
 */
export const updatedText = ({ succeeded, failed, leftOut, failedLeftOut, total, rollback }: BoardModel): string =>
  [
    rollback
      ? `${rollback.rolledBack} of ${plural(rollback.total, 'box', 'boxes')} rolled back`
      : `${succeeded} of ${plural(total, 'box', 'boxes')} updated`,
    ...(failed > failedLeftOut ? [`${failed - failedLeftOut} failed`] : []),
    ...(failedLeftOut > 0 ? [`${failedLeftOut} failed and skipped`] : []),
    ...(leftOut > failedLeftOut ? [`${leftOut - failedLeftOut} skipped`] : []),
  ].join(', ')
