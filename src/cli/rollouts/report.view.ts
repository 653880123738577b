import { stepWord } from '../../core/boxes/index.ts'
import { duration, plural } from '../../core/kit/index.ts'
import {
  countsText,
  errorOf,
  hasFailed,
  isInProgress,
  outcomeAfterFailure,
  outcomeTint,
  outcomeWord,
  pausedPhase,
  type RolloutAction,
  type RolloutPlan,
  type RolloutReport,
  reasonWithout,
  rolloutState,
  type StepSpread,
  skippedBoxes,
  stateTint,
  stepsWhenNotWatching,
  stillAskedText,
  timelineText,
  whyOf,
} from '../../core/rollouts/index.ts'
import { type Column, clean, fields, type Style, sections, stamp, table } from '../kit/index.ts'
import { planView } from './plan.ts'
import { actionColumns, gateFields, nextStepsView, termsOf, waitingText } from './rollout.view.ts'

type Report = RolloutReport & Readonly<{ plan?: RolloutPlan }>

/** The report of a rollout: failures first, then timeline, step durations and the next commands. */
export function reportView(report: Report, style: Style): string {
  const { boxes, plan, stillAsked } = report
  const rollout = { ...report.rollout, stillAsked }
  const open = boxes.filter((action) => hasFailed(action) && !action.waived)
  return sections(
    factsOf(report, style),
    failuresView(report, style),
    plan ? planView(plan, style) : '',
    titled('Timeline', timelineView(report, style), style),
    report.steps.length > 0 ? titled('Steps', table(style, stepColumns, report.steps), style) : '',
    plan ? '' : boxesView(report, style),
    nextStepsView(stepsWhenNotWatching(rollout, open, skippedBoxes(boxes)), style),
  )
}

const titled = (title: string, text: string, { paint }: Style) => (text === '' ? '' : `${paint.bold(title)}\n${text}`)

function factsOf(report: Report, style: Style): string {
  const { rollout, boxes, stillAsked } = report
  const { paint, now } = style
  return fields(style, [
    ['rollout', paint.bold(rollout.id)],
    ['kind', rollout.kind === 'emergency_cve' ? `emergency ${clean(rollout.cveId ?? '')}` : null],
    ['status', `${paint[stateTint(rollout)](rolloutState(rollout))}${pausedPhase(rollout)}`],
    ['reason', clean(reasonWithout(whyOf(rollout) ?? '', boxes.filter(hasFailed).map(errorOf)))],
    ['boxes', countsText(rollout.counts)],
    ['waiting', waitingText({ ...rollout, gates: report.gates }, now)],
    ['comment', rollout.reason && clean(rollout.reason)],
    ['manifest', `revision ${rollout.manifestRevision}`],
    ['', stillAsked && stillAskedText(stillAsked)],
    ...termsOf(rollout),
    ...gateFields(report, style),
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

const expectedText = (ms: number | undefined): string => (ms ? `; expected median ${duration(ms)}` : '')

const downtimeText = ({ fence }: Report) =>
  fence &&
  `median ${duration(fence.medianMs)}, max ${duration(fence.worstMs)} (${clean(fence.worstSlug)}), ` +
    `total ${duration(fence.sumMs)} over ${plural(fence.boxes, 'box', 'boxes')}${expectedText(fence.expectedMedianMs)}`

/** The duration of the whole rollback, and of single boxes. */
function rollbackText({ rollback }: Report): string | null {
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
  const { rollback } = counts
  const rolledBackWithRollout = rollback?.done ?? 0
  const left = rollback
    ? rollback.failed - boxes.filter(({ status, rollback }) => rollback?.status === 'failed' && status !== 'succeeded').length
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
  return `${head}\n    ${why}\n    ${outcomeAfterFailure(action)}${waived ? '; skipped' : ''}`
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

/** One uncut line per event. Phases without boxes are left out. */
function timelineView(story: RolloutReport, style: Style): string {
  const lines = story.timeline.flatMap((entry) => timelineText(entry, story).map((text) => [utc(entry.at), text] as const))
  return fields(style, lines)
}

const utc = (at: string) => at.slice(0, 19).replace('T', ' ')
