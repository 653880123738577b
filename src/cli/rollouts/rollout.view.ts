import { duration, plural } from '../../core/kit/index.ts'
import {
  bakeText,
  byPhase,
  countsText,
  errorOf,
  failuresIn,
  fenceModeText,
  gateText,
  gateTint,
  isOpenFailure,
  lastMoveText,
  listedState,
  type NextStep,
  outcomeTint,
  outcomeWord,
  pausedPhase,
  queuedText,
  type Rollout,
  type RolloutAction,
  type RolloutDetail,
  type RolloutSummary,
  rolloutState,
  skippedBoxes,
  skipReason,
  snapshotModeText,
  stateTint,
  stepsWhenNotWatching,
  stillAskedText,
  waitOf,
  whyOf,
} from '../../core/rollouts/index.ts'
import { ago, type Column, clean, fields, lasted, padEnd, type Style, sections, stamp, table } from '../kit/index.ts'

/** A rollout after a command: its state and the next commands. */
export function rolloutView(rollout: Rollout | RolloutDetail, style: Style): string {
  const { paint, now } = style
  const actions = 'actions' in rollout ? rollout.actions : []
  const facts = fields(style, [
    ['rollout', paint.bold(rollout.id)],
    ['status', `${paint[stateTint(rollout)](rolloutState(rollout))}${pausedPhase(rollout)}`],
    ['reason', clean(whyOf(rollout) ?? '')],
    ['boxes', countsText(rollout.counts)],
    ['waiting', waitingText(rollout, now)],
    ['comment', rollout.reason && clean(rollout.reason)],
    ['cve', rollout.cveId && clean(rollout.cveId)],
    ['decided by', rollout.triggeredBy && clean(rollout.triggeredBy)],
    ['manifest', `revision ${rollout.manifestRevision}`],
    ['', rollout.stillAsked && stillAskedText(rollout.stillAsked)],
    ...termsOf(rollout),
    ...gateFields(rollout, style),
    ['created', `${stamp(rollout.createdAt, now)} by ${clean(rollout.createdBy)}`],
    ['started', stamp(rollout.startedAt, now)],
    ['finished', stamp(rollout.finishedAt, now)],
    ['duration', rollout.finishedAt ? lasted(rollout.startedAt, rollout.finishedAt, now) : undefined],
  ])
  return sections(
    facts,
    actions.length > 0 ? table(style, actionColumns, [...actions].sort(byPhase(rollout))) : '',
    nextStepsView(stepsWhenNotWatching(rollout, actions.filter(isOpenFailure), skippedBoxes(actions)), style),
  )
}

/** Settings of a rollout that differ from the defaults. */
export const termsOf = ({ holdAfter, parallel, bakeMs, failureThreshold, ...rollout }: RolloutSummary): [string, string | null][] => [
  ['pause after', holdAfter],
  ['parallel', parallel ? `${plural(parallel, 'box', 'boxes')} at a time` : null],
  ['bake', bakeMs ? `${duration(bakeMs)} after each phase` : null],
  ['threshold', failureThreshold > 1 ? `a phase stops after ${failureThreshold} failed boxes` : null],
  ['windows', rollout.ignoreWindows ? 'ignored' : null],
  ['fence mode', fenceModeText(rollout.fenceMode)],
  ['snapshot mode', snapshotModeText(rollout.snapshotMode)],
]

/** Each gate with its last answer; the label stands once. */
export const gateFields = ({ gates }: Pick<Rollout, 'gates'>, { paint }: Style): [string, string][] =>
  gates.map((gate, n) => [n === 0 ? 'gates' : '', paint[gateTint(gate)](clean(gateText(gate)))])

type Waiting = Pick<Rollout, 'waitingUntil' | 'queuedBehind' | 'bakeUntil' | 'status'> & Partial<Pick<Rollout, 'gates'>>

/** Unfinished rollouts, the end of a bake or its gates, or the next opening of a maintenance window when all boxes wait for one. */
export const waitingText = (rollout: Waiting, now: Date): string | undefined =>
  queuedText(rollout) ?? bakeText(rollout) ?? windowText(rollout, now)

const windowText = ({ waitingUntil }: Pick<Rollout, 'waitingUntil'>, now: Date): string | undefined =>
  waitingUntil && Date.parse(waitingUntil) > now.getTime() ? `until ${stamp(waitingUntil, now)} for a maintenance window` : undefined

/** Labels and commands; never cut, so that commands can be copied. */
export function nextStepsView(steps: readonly NextStep[], { paint }: Style): string {
  const left = Math.max(0, ...steps.map(({ label }) => label.length))
  return steps.map(({ command, label }) => `${paint.dim(padEnd(label, left))}  ${command}`).join('\n')
}

const actionErrorText = (action: RolloutAction): string | null => {
  const error = errorOf(action)
  return error && `${error.code}: ${error.message}`
}

export const actionColumns: readonly Column<RolloutAction>[] = [
  { title: 'BOX', value: ({ tenantSlug }) => tenantSlug, priority: 1, minWidth: 12 },
  { title: 'PHASE', value: ({ phase }) => phase, priority: 2 },
  { title: 'STATUS', value: (action) => outcomeWord(action), priority: 1, paint: (action) => outcomeTint(action) },
  { title: 'FROM → TO', value: lastMoveText, priority: 3, minWidth: 16 },
  { title: 'DURATION', value: ({ durationMs }) => (durationMs === null ? null : duration(durationMs)), priority: 3, align: 'right' },
  { title: 'DOWNTIME', value: ({ fencedMs }) => (fencedMs === null ? null : duration(fencedMs)), priority: 4, align: 'right' },
  { title: 'EXPECTED', value: ({ expectedFenceMs }) => (expectedFenceMs ? duration(expectedFenceMs) : null), priority: 5, align: 'right' },
  { title: 'SNAPSHOT', value: ({ snapshotId }) => snapshotId?.slice(0, 8), priority: 5 },
  { title: 'WAITING FOR', value: (action) => waitOf(action), priority: 3, minWidth: 14 },
  { title: 'SKIPPED FOR', value: skipReason, priority: 3, minWidth: 14, paint: () => 'yellow' },
  { title: 'ERROR', value: actionErrorText, priority: 2, minWidth: 14, paint: () => 'red' },
]

const utcMinute = (iso: string | null): string | null => iso && `${iso.slice(0, 16).replace('T', ' ')} UTC`

const listColumns = ({ now }: Style): Column<RolloutSummary>[] => [
  { title: 'ROLLOUT', value: ({ id }) => id, priority: 1 },
  { title: 'STATUS', value: listedState, priority: 1, paint: stateTint },
  { title: 'UPDATED', value: ({ counts }) => `${counts.succeeded}/${counts.total - counts.skipped}`, priority: 1, align: 'right' },
  {
    title: 'FAILED',
    value: ({ counts }) => failuresIn(counts),
    priority: 2,
    align: 'right',
    paint: ({ counts }) => (failuresIn(counts) > 0 ? 'red' : 'dim'),
  },
  {
    title: 'ROLLED BACK',
    value: ({ counts: { rollback } }) => rollback && `${rollback.done}/${rollback.total}`,
    priority: 3,
    align: 'right',
  },
  {
    title: 'WAITING UNTIL',
    value: ({ waitingUntil, bakeUntil, status }) => utcMinute(status === 'paused' ? waitingUntil : (bakeUntil ?? waitingUntil)),
    priority: 2,
  },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'CREATED BY', value: ({ createdBy }) => createdBy, priority: 4, minWidth: 8 },
  { title: 'KIND', value: ({ kind }) => kind, priority: 5 },
  { title: 'REASON', value: (rollout) => whyOf(rollout) ?? rollout.reason, priority: 3, minWidth: 14 },
]

type Page = Readonly<{ rollouts: readonly RolloutSummary[]; nextCursor: string | null }>

/** `isFiltered`: a filter was given. */
export const rolloutList = ({ rollouts, nextCursor }: Page, style: Style, isFiltered = false): string =>
  rollouts.length === 0
    ? isFiltered
      ? 'No rollouts match. List all: tenantry rollouts list'
      : 'No rollouts. Preview one: tenantry rollouts plan'
    : sections(table(style, listColumns(style), rollouts), nextCursor ? `Next page: --cursor ${nextCursor}` : '')
