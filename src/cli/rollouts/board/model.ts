import type { Phase, RolloutAction } from '../../../core/rollouts/index.ts'
import { errorOf, hasFailed, isUnderWay, type NextStep, nextSteps, outcomeWord, statusWord, stepWord, whyOf } from '../words.ts'
import { plannedBy, remainingMs } from './estimate.ts'
import { type BoardState, daemonNowMs } from './state.ts'

export type PhaseState = 'done' | 'running' | 'paused' | 'failed' | 'waiting' | 'empty'
export type PhaseLine = Readonly<{ phase: Phase; state: PhaseState; settled: number; total: number }>
export type InFlight = Readonly<{ slug: string; phase: Phase; step: string; detail: string; elapsedMs: number }>
export type Failure = Readonly<{ slug: string; outcome: string; reason: string; waived: boolean }>

/** What the board shows, free of how it is drawn. */
export type BoardModel = Readonly<{
  id: string
  status: BoardState['rollout']['status']
  elapsedMs: number | undefined
  manifestRevision: number
  phases: readonly PhaseLine[]
  /** 0 to 1, with a part for boxes under way. */
  progress: number
  settled: number
  total: number
  /** How far the way back is of a rollout that was rolled back with its boxes. */
  back: Readonly<{ undone: number; ended: number; total: number }> | undefined
  /** Boxes whose turn it is, and whose maintenance window opens later; until when the first of them waits. */
  waiting: Readonly<{ boxes: number; until: string }> | undefined
  etaMs: number | undefined
  inFlight: readonly InFlight[]
  failures: readonly Failure[]
  reason: string | undefined
  next: readonly NextStep[]
  connected: boolean
}>

export function boardModel(state: BoardState, localNowMs: number): BoardModel {
  const { rollout, plan } = state
  const nowMs = daemonNowMs(state, localNowMs)
  const actions = [...state.actions.values()]
  const counted = actions.filter(({ status }) => status !== 'skipped')
  const settled = counted.filter(isSettled)
  const back = backOf(actions)
  const open = actions.filter((action) => hasFailed(action) && !action.waived)
  return {
    id: rollout.id,
    status: rollout.status,
    elapsedMs: rollout.startedAt ? wholeSeconds(endOf(state, nowMs) - Date.parse(rollout.startedAt)) : undefined,
    manifestRevision: rollout.manifestRevision,
    phases: plan.phases.map(({ phase }) => phaseLine(state, phase)),
    progress: back ? back.ended / back.total : progressOf(state, counted, nowMs),
    settled: settled.length,
    total: counted.length,
    back,
    waiting: rollout.status === 'paused' ? undefined : waitingOf(actions, nowMs),
    etaMs: remainingMs(state, nowMs),
    inFlight: actions.filter(isUnderWay).sort(byStart).map(inFlightAt(nowMs)),
    failures: actions.filter(hasFailed).sort(openFirst).map(failureOf),
    reason: whyOf(rollout),
    next: nextSteps(rollout, open),
    connected: state.connected,
  }
}

function waitingOf(actions: readonly RolloutAction[], nowMs: number): BoardModel['waiting'] {
  const hours = actions
    .flatMap(({ status, waitsUntil }) => (status === 'pending' && waitsUntil && Date.parse(waitsUntil) > nowMs ? [waitsUntil] : []))
    .sort()
  return hours[0] === undefined ? undefined : { boxes: hours.length, until: hours[0] }
}

function backOf(actions: readonly RolloutAction[]): BoardModel['back'] {
  const undos = actions.flatMap(({ undo }) => (undo ? [undo.status] : []))
  const undone = undos.filter((status) => status === 'undone').length
  const ended = undone + undos.filter((status) => status === 'failed').length
  return undos.length === 0 ? undefined : { undone, ended, total: undos.length }
}

const isSettled = (action: RolloutAction) => action.status !== 'pending' && !isUnderWay(action)

const endOf = ({ rollout }: BoardState, nowMs: number) => (rollout.finishedAt ? Date.parse(rollout.finishedAt) : nowMs)

function phaseLine({ rollout, actions }: BoardState, phase: Phase): PhaseLine {
  const own = [...actions.values()].filter((action) => action.phase === phase && action.status !== 'skipped')
  const settled = own.filter(isSettled).length
  const counts = { phase, settled, total: own.length }
  if (own.length === 0) return { ...counts, state: 'empty' }
  if (own.some((action) => hasFailed(action) && !action.waived)) return { ...counts, state: 'failed' }
  if (settled === own.length) return { ...counts, state: 'done' }
  if (rollout.status === 'paused' && rollout.previousStatus === phase) return { ...counts, state: 'paused' }
  return { ...counts, state: rollout.status === phase || own.some(isUnderWay) ? 'running' : 'waiting' }
}

/** A box under way counts by its share of the expected time, but never as nearly done. */
function progressOf({ plan }: BoardState, counted: readonly RolloutAction[], nowMs: number): number {
  if (counted.length === 0) return 1
  const planned = plannedBy(plan)
  const share = (action: RolloutAction) => {
    if (isSettled(action)) return 1
    if (!isUnderWay(action) || !action.startedAt) return 0
    return Math.min(0.9, Math.max(0, nowMs - Date.parse(action.startedAt)) / Math.max(1, planned.get(action.tenantSlug)?.expectedMs ?? 1))
  }
  return counted.reduce((sum, action) => sum + share(action), 0) / counted.length
}

/** Seconds are fine enough for what is looked at while it moves. */
const wholeSeconds = (ms: number) => Math.max(1000, Math.floor(ms / 1000) * 1000)

const byStart = (a: RolloutAction, b: RolloutAction) => (a.startedAt ?? '').localeCompare(b.startedAt ?? '')
const openFirst = (a: RolloutAction, b: RolloutAction) =>
  Number(a.waived) - Number(b.waived) || (b.finishedAt ?? '').localeCompare(a.finishedAt ?? '')

const inFlightAt =
  (nowMs: number) =>
  ({ tenantSlug, phase, status, undo, progress, startedAt }: RolloutAction): InFlight => ({
    slug: tenantSlug,
    phase,
    step: undo ? outcomeWord({ status, undo }) : statusWord(status),
    detail: stepDetail(progress),
    elapsedMs: wholeSeconds(startedAt ? nowMs - Date.parse(startedAt) : 0),
  })

/** `2 of 3 good`, `images: 40 %`: what the status beside it does not say already. */
function stepDetail(progress: RolloutAction['progress']): string {
  if (!progress) return ''
  const how = progress.detail ?? (progress.percent === undefined ? undefined : `${Math.round(progress.percent)} %`)
  return [stepWord(progress.step), how].filter(Boolean).join(': ')
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
