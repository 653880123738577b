import { duration, plural } from '../../core/kit/index.ts'
import type {
  PhaseSpan,
  RollbackCounts,
  RollbackSpan,
  RolloutAction,
  RolloutPlan,
  RolloutReport,
  StepSpread,
  TimelineEntry,
} from '../../core/rollouts/index.ts'
import { type Column, clean, fields, type Style, sections, stamp, table } from '../kit/index.ts'
import { planView } from './plan.ts'
import { actionColumns, countsText, nextStepsView, pausedPhase, termsOf, waitingText } from './rollout.view.ts'
import {
  errorOf,
  hasFailed,
  isInProgress,
  outcomeTint,
  outcomeWord,
  rolloutState,
  stateTint,
  stepsWhenNotWatching,
  stepWord,
  whyOf,
} from './words.ts'

type Report = RolloutReport & Readonly<{ plan?: RolloutPlan }>

/** The report of a rollout: failures first, then timeline, step durations and the next commands. */
export function reportView(report: Report, style: Style): string {
  const { rollout, boxes, plan } = report
  const open = boxes.filter((action) => hasFailed(action) && !action.waived)
  return sections(
    factsOf(report, style),
    failuresView(report, style),
    plan ? planView(plan, style) : '',
    titled('Timeline', timelineView(report, style), style),
    report.steps.length > 0 ? titled('Steps', table(style, stepColumns, report.steps), style) : '',
    plan ? '' : boxesView(report, style),
    nextStepsView(stepsWhenNotWatching(rollout, open), style),
  )
}

const titled = (title: string, text: string, { paint }: Style) => (text === '' ? '' : `${paint.bold(title)}\n${text}`)

function factsOf(report: Report, style: Style): string {
  const { rollout } = report
  const { paint, now } = style
  return fields(style, [
    ['rollout', paint.bold(rollout.id)],
    ['kind', rollout.kind === 'emergency_cve' ? `emergency ${clean(rollout.cveId ?? '')}` : null],
    ['status', `${paint[stateTint(rollout)](rolloutState(rollout))}${pausedPhase(rollout)}`],
    ['reason', clean(whyOf(rollout) ?? '')],
    ['boxes', countsText(rollout.counts)],
    ['waiting', waitingText(rollout, now)],
    ['comment', rollout.reason && clean(rollout.reason)],
    ['manifest', `revision ${rollout.manifestRevision}`],
    ...termsOf(rollout),
    ['created', `${stamp(rollout.createdAt, now)} by ${clean(rollout.createdBy)}`],
    ['triggered by', rollout.triggeredBy && clean(rollout.triggeredBy)],
    ['started', stamp(rollout.startedAt, now)],
    ['finished', stamp(rollout.finishedAt, now)],
    [rollout.finishedAt === null ? 'elapsed' : 'duration', durationText(report)],
    ['downtime', downtimeText(report)],
    ['rollback', rollbackText(report)],
  ])
}

const durationText = ({ durationMs, pausedMs }: Report) =>
  durationMs === null ? null : `${duration(durationMs)}${pausedMs > 0 ? `, of which paused ${duration(pausedMs)}` : ''}`

const downtimeText = ({ fence }: Report) =>
  fence &&
  `median ${duration(fence.medianMs)}, max ${duration(fence.worstMs)} (${clean(fence.worstSlug)}), ` +
    `total ${duration(fence.sumMs)} over ${plural(fence.boxes, 'box', 'boxes')}`

/** The duration of the whole rollback, and of single boxes. */
function rollbackText({ undo: rollback }: Report): string | null {
  if (!rollback) return null
  const { startedAt, endedAt, durationMs, boxes } = rollback
  const whole = `from ${utc(startedAt)} ${endedAt ? `to ${utc(endedAt)} UTC, ${duration(durationMs)}` : `UTC, ${duration(durationMs)} elapsed`}`
  if (!boxes) return whole
  return `${whole}; per box: median ${duration(boxes.medianMs)}, max ${duration(boxes.worstMs)} (${clean(boxes.worstSlug)})`
}

/** Failures shown in full; the table has all. */
const maxFailures = 10

function failuresView({ rollout, boxes }: Report, style: Style): string {
  const failures = boxes.filter(hasFailed)
  if (failures.length === 0) return ''
  const { counts } = rollout
  const { undo: rollback } = counts
  const rolledBackWithRollout = rollback?.undone ?? 0
  const left = rollback
    ? rollback.failed - boxes.filter(({ status, undo }) => undo?.status === 'failed' && status !== 'succeeded').length
    : 0
  const more =
    counts.failed + counts.rolledBack - rolledBackWithRollout + counts.rollbackFailed + left - Math.min(failures.length, maxFailures)
  const texts = failures.slice(0, maxFailures).map((failure) => failureText(failure, style))
  return titled(
    'Failures',
    [...texts, ...(more > 0 ? [`and ${more} more: tenantry rollouts show ${rollout.id} --boxes`] : [])].join('\n'),
    style,
  )
}

function failureText(action: RolloutAction, { paint }: Style): string {
  const { tenantSlug, phase, attempt, waived } = action
  const error = errorOf(action)
  const head = `${paint.bold(clean(tenantSlug))}  ${paint[outcomeTint(action)](outcomeWord(action))} in ${phase}${attempt > 1 ? `, attempt ${attempt}` : ''}`
  const why = error ? `${clean(error.message)} [${clean(error.code)}]` : 'the agent reported no reason'
  return `${head}\n    ${why}\n    ${outcomeOf(action)}${waived ? '; skipped' : ''}`
}

/** The state of the box after the failure. */
function outcomeOf({ status, updateOk, snapshotOk, undo: rollback, error }: RolloutAction): string {
  if (rollback && status === 'rollback_failed') return 'in maintenance: the rollback failed halfway; repair it by hand'
  if (rollback && status === 'succeeded') return 'serving on the new version'
  if (rollback && status === 'failed') return 'reported as rolled back, but its images do not match; check it'
  if (rollback) return `rolling back by ${rollback.mode}`
  if (status === 'rolled_back') return 'rolled back to the previous version'
  if (status === 'rollback_failed') return 'in maintenance: the rollback failed; repair it by hand'
  if (snapshotOk && error?.code === 'DIGEST_MISMATCH') return 'runs an unexpected image; check it before you resume'
  if (updateOk) return 'on the new version, which failed its health checks'
  return snapshotOk ? 'unchanged, maintenance ended' : 'unchanged'
}

const stepColumns: readonly Column<StepSpread>[] = [
  { title: 'STEP', value: ({ step }) => stepWord(step) || step, priority: 1, minWidth: 12 },
  { title: 'BOXES', value: ({ boxes }) => boxes, priority: 3, align: 'right' },
  { title: 'MEDIAN', value: ({ medianMs }) => duration(medianMs), priority: 1, align: 'right' },
  { title: 'MAX', value: ({ worstMs }) => duration(worstMs), priority: 1, align: 'right' },
  { title: 'BOX', value: ({ worstSlug }) => worstSlug, priority: 2, minWidth: 20 },
]

/** Boxes shown besides failures. */
const maxBoxes = 20

function boxesView({ rollout, boxes, boxesTotal }: Report, style: Style): string {
  const others = boxes.filter((box) => !hasFailed(box))
  const shown = others.slice(0, maxBoxes)
  if (shown.length === 0) return ''
  const left = boxesTotal - (boxes.length - others.length) - shown.length
  const title = left <= 0 ? 'Boxes' : shown.some(isInProgress) ? 'Boxes in progress, then the slowest' : 'Slowest boxes'
  const more = left > 0 ? `\n${left} more: tenantry rollouts show ${rollout.id} --boxes` : ''
  return titled(title, `${table(style, actionColumns, shown)}${more}`, style)
}

type Story = Pick<RolloutReport, 'timeline' | 'phases' | 'pauses' | 'undo' | 'rollout'>

/** One uncut line per event. Phases without boxes are left out. */
function timelineView(story: Story, style: Style): string {
  const lines = story.timeline.flatMap((entry) => sentences(entry, story).map((text) => [utc(entry.at), text] as const))
  return fields(style, lines)
}

const rollbackScopes = {
  none: ', updated boxes kept',
  images: ', boxes by their previous images',
  snapshot: ', boxes by their previous snapshots',
} as const satisfies Record<NonNullable<TimelineEntry['boxes']>, string>

const utc = (at: string) => at.slice(0, 19).replace('T', ' ')

function sentences(entry: TimelineEntry, { phases, pauses, undo: rollback, rollout }: Story): string[] {
  const { at, action, phase, reason, actor, boxes, cancelled } = entry
  const span = phases.find((one) => one.startedAt === at && one.phase === phase && one.boxes > 0)
  if (action === 'rollout.phase') return span ? [phaseText(span)] : []
  if (action === 'rollout.started') return [`started by ${actorName(actor)}`, ...(span ? [phaseText(span)] : [])]
  const pause = action === 'rollout.paused' ? pauses.find((one) => one.at === at) : undefined
  const isAbort = action === 'rollout.failed' && !actor.startsWith('system:')
  const why =
    reason === null || (isAbort && reason === `aborted by ${actor}`) ? '' : `: ${clean(whyOf({ pauseReason: reason, error: null }) ?? '')}`
  const where = pause?.phase ? ` in ${pause.phase}` : ''
  const scope = boxes ? rollbackScopes[boxes] : ''
  const never = cancelled ? `, ${plural(cancelled, 'box', 'boxes')} cancelled` : ''
  const lasted = pause ? `, ${howLong(pause.durationMs, pause.until)}` : ''
  const line = `${isAbort ? 'aborted' : wordOf(action)}${where} by ${actorName(actor)}${scope}${never}${lasted}${why}`
  return action === 'rollout.rolled_back' && rollback ? [line, rollbackEntry(rollback, rollout.counts.undo)] : [line]
}

const wordOf = (action: string) => clean(action.replace(/^rollout\./, '').replace(/[._]/g, ' '))
const actorName = (actor: string) => (actor.startsWith('system:') ? 'the engine' : clean(actor))
const howLong = (ms: number, ended: string | null) => (ended === null ? `${duration(ms)} elapsed` : `for ${duration(ms)}`)

const rollbackEntry = ({ durationMs, endedAt }: RollbackSpan, counts: RollbackCounts | null): string =>
  `rollback, ${howLong(durationMs, endedAt)}${counts ? `: ${counts.undone} of ${plural(counts.total, 'box', 'boxes')} rolled back` : ''}`

function phaseText({ phase, durationMs, endedAt, boxes, succeeded, failed }: PhaseSpan): string {
  const came = `${succeeded} of ${plural(boxes, 'box', 'boxes')} updated${failed > 0 ? `, ${failed} failed` : ''}`
  return `${phase}, ${howLong(durationMs, endedAt)}: ${came}`
}
