import { duration, plural } from '../../core/kit/index.ts'
import type {
  ActionCounts,
  Phase,
  RollbackCounts,
  Rollout,
  RolloutAction,
  RolloutDetail,
  RolloutSummary,
} from '../../core/rollouts/index.ts'
import { versionMoves } from '../boxes/index.ts'
import { ago, type Column, clean, fields, lasted, padEnd, type Style, sections, stamp, table } from '../kit/index.ts'
import {
  emergencyPhases,
  errorOf,
  fenceModeText,
  hasFailed,
  type NextStep,
  outcomeTint,
  outcomeWord,
  phases,
  rolloutState,
  rolloutTint,
  rolloutWord,
  stepsWhenNotWatching,
  waitOf,
  whyOf,
} from './words.ts'

/** How far the boxes are, and, of a rollout that was rolled back with them, their way back. */
export const countsText = (counts: ActionCounts): string =>
  [
    `${counts.succeeded} of ${plural(counts.total - counts.skipped, 'box', 'boxes')} updated`,
    counts.running > 0 && `${counts.running} under way`,
    counts.failed > 0 && `${counts.failed} failed`,
    restored(counts) > 0 && `${restored(counts)} rolled back`,
    counts.rollbackFailed > 0 && `${counts.rollbackFailed} could not be rolled back`,
    counts.skipped > 0 && `${counts.skipped} skipped`,
    counts.cancelled > 0 && `${counts.cancelled} cancelled`,
    counts.pending > 0 && `${counts.pending} to come`,
    counts.undo && undoText(counts.undo),
  ]
    .filter(Boolean)
    .join(', ')

/** Those that their agents took back during the update; the others were brought back with the rollout. */
const restored = ({ rolledBack, undo }: ActionCounts): number => rolledBack - (undo?.undone ?? 0)

const undoText = ({ total, undone, running, pending, failed }: RollbackCounts): string =>
  [
    `${undone} of ${total} brought back`,
    running > 0 && `${running} on their way back`,
    pending > 0 && `${pending} to be brought back`,
    failed > 0 && `${failed} not brought back`,
  ]
    .filter(Boolean)
    .join(', ')

/** After a verb: what it is now, and what can be typed next. */
export function rolloutView(rollout: Rollout | RolloutDetail, style: Style): string {
  const { paint, now } = style
  const actions = 'actions' in rollout ? rollout.actions : []
  const facts = fields(style, [
    ['rollout', paint.bold(rollout.id)],
    ['status', `${paint[rolloutTint(rollout.status)](rolloutState(rollout.status))}${beforeThat(rollout)}`],
    ['because', clean(whyOf(rollout) ?? '')],
    ['boxes', countsText(rollout.counts)],
    ['waiting', waitingText(rollout, now)],
    ['reason', rollout.reason && clean(rollout.reason)],
    ['cve', rollout.cveId && clean(rollout.cveId)],
    ['decided by', rollout.triggeredBy && clean(rollout.triggeredBy)],
    ['manifest', `revision ${rollout.manifestRevision}`],
    ...termsOf(rollout),
    ['created', `${stamp(rollout.createdAt, now)} by ${clean(rollout.createdBy)}`],
    ['started', stamp(rollout.startedAt, now)],
    ['ended', stamp(rollout.finishedAt, now)],
    ['took', rollout.finishedAt ? lasted(rollout.startedAt, rollout.finishedAt, now) : undefined],
  ])
  return sections(
    facts,
    actions.length > 0 ? table(style, actionColumns, [...actions].sort(byPhase(rollout))) : '',
    stepsView(stepsWhenNotWatching(rollout, actions.filter(openFailure)), style),
  )
}

/** On what terms it runs, where they are not the usual ones. */
export const termsOf = ({ holdAfter, failureThreshold, ignoreWindows, fenceMode }: RolloutSummary): [string, string | null][] => [
  ['holds', holdAfter && `pauses when ${holdAfter} is through`],
  ['threshold', failureThreshold > 1 ? `a phase takes no new boxes once ${failureThreshold} of it failed` : null],
  ['windows', ignoreWindows ? 'ignored: boxes are updated at any time' : null],
  ['fence mode', fenceModeText(fenceMode)],
]

/** Until when nothing can be done but wait. */
export const waitingText = ({ waitingUntil }: Pick<Rollout, 'waitingUntil'>, now: Date): string | undefined =>
  waitingUntil && Date.parse(waitingUntil) > now.getTime()
    ? `until ${stamp(waitingUntil, now)}: no maintenance window opens before`
    : undefined

/** In the order in which its kind takes them. */
const byPhase = ({ kind }: Pick<Rollout, 'kind'>) => {
  const order: readonly Phase[] = kind === 'staged' ? phases : emergencyPhases
  return (a: RolloutAction, b: RolloutAction) => order.indexOf(a.phase) - order.indexOf(b.phase)
}

const openFailure = (action: RolloutAction) => hasFailed(action) && !action.waived

export const beforeThat = ({ status, previousStatus }: Pick<Rollout, 'status' | 'previousStatus'>) =>
  status === 'paused' && previousStatus ? ` in ${previousStatus}` : ''

/** What each does, then the command; never cut, so that it can be copied. */
export function stepsView(steps: readonly NextStep[], { paint }: Style): string {
  const left = Math.max(0, ...steps.map(({ does }) => does.length))
  return steps.map(({ type, does }) => `${paint.dim(padEnd(does, left))}  ${type}`).join('\n')
}

const actionErrorText = (action: RolloutAction): string | null => {
  const error = errorOf(action)
  return error && `${error.code}: ${error.message}`
}

/** Why a box has no turn that does not simply run its target: what the plan refused, or what an emergency brought further. */
const leftOutFor = ({ status, findings }: RolloutAction): string | null =>
  status === 'skipped' ? findings.map(({ code }) => code).join(' ') : null

export const actionColumns: readonly Column<RolloutAction>[] = [
  { title: 'BOX', value: ({ tenantSlug }) => tenantSlug, priority: 1, minWidth: 12 },
  { title: 'PHASE', value: ({ phase }) => phase, priority: 2 },
  { title: 'STATUS', value: (action) => outcomeWord(action), priority: 1, paint: (action) => outcomeTint(action) },
  { title: 'FROM → TO', value: ({ from, to }) => versionMoves(from, to), priority: 3, minWidth: 16 },
  { title: 'TOOK', value: ({ durationMs }) => (durationMs === null ? null : duration(durationMs)), priority: 3, align: 'right' },
  { title: 'FENCED', value: ({ fencedMs }) => (fencedMs === null ? null : duration(fencedMs)), priority: 4, align: 'right' },
  { title: 'SNAPSHOT', value: ({ snapshotId }) => snapshotId?.slice(0, 8), priority: 5 },
  { title: 'WAITS', value: (action) => waitOf(action), priority: 3, minWidth: 14 },
  { title: 'LEFT OUT FOR', value: leftOutFor, priority: 3, minWidth: 14, paint: () => 'yellow' },
  { title: 'ERROR', value: actionErrorText, priority: 2, minWidth: 14, paint: () => 'red' },
]

const listColumns = ({ now }: Style): Column<RolloutSummary>[] => [
  { title: 'ROLLOUT', value: ({ id }) => id, priority: 1 },
  { title: 'STATUS', value: ({ status }) => rolloutWord(status), priority: 1, paint: ({ status }) => rolloutTint(status) },
  { title: 'UPDATED', value: ({ counts }) => `${counts.succeeded}/${counts.total - counts.skipped}`, priority: 1, align: 'right' },
  {
    title: 'FAILED',
    value: ({ counts }) => counts.failed + restored(counts) + counts.rollbackFailed,
    priority: 2,
    align: 'right',
    paint: ({ counts }) => (counts.failed + restored(counts) + counts.rollbackFailed > 0 ? 'red' : 'dim'),
  },
  {
    title: 'BACK',
    value: ({ counts: { undo } }) => undo && `${undo.undone}/${undo.total}`,
    priority: 3,
    align: 'right',
  },
  {
    title: 'WAITING UNTIL',
    value: ({ waitingUntil }) => waitingUntil && `${waitingUntil.slice(0, 16).replace('T', ' ')} UTC`,
    priority: 2,
  },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'BY', value: ({ createdBy }) => createdBy, priority: 4, minWidth: 8 },
  { title: 'KIND', value: ({ kind }) => kind, priority: 5 },
  { title: 'WHY', value: (rollout) => whyOf(rollout) ?? rollout.reason, priority: 3, minWidth: 14 },
]

type Page = Readonly<{ rollouts: readonly RolloutSummary[]; nextCursor: string | null }>

/** `narrowed`: only some were asked for. */
export const rolloutList = ({ rollouts, nextCursor }: Page, style: Style, narrowed = false): string =>
  rollouts.length === 0
    ? narrowed
      ? 'No rollout fits. All of them: tenantry rollouts list'
      : 'No rollouts yet. See what one would do: tenantry rollouts plan'
    : sections(table(style, listColumns(style), rollouts), nextCursor ? `More: the same command with --cursor ${nextCursor}` : '')
