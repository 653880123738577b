import { duration, plural } from '../../core/kit/index.ts'
import type { RolloutAction, RolloutPlan, RolloutReport, StepSpread } from '../../core/rollouts/index.ts'
import { type Column, clean, fields, type Style, sections, stamp, table } from '../kit/index.ts'
import { planView } from './plan.ts'
import { actionColumns, beforeThat, countsText, stepsView, termsOf, waitingText } from './rollout.view.ts'
import { timelineView, utc } from './timeline.view.ts'
import {
  errorOf,
  hasFailed,
  isUnderWay,
  outcomeTint,
  outcomeWord,
  rolloutState,
  rolloutTint,
  stepsWhenNotWatching,
  stepWord,
  whyOf,
} from './words.ts'

type Report = RolloutReport & Readonly<{ plan?: RolloutPlan }>

/** What happened, for people who were not there: what went wrong first, then the story, where the time went, and what to type now. */
export function reportView(report: Report, style: Style): string {
  const { rollout, boxes, plan } = report
  const open = boxes.filter((action) => hasFailed(action) && !action.waived)
  return sections(
    factsOf(report, style),
    failuresView(report, style),
    plan ? planView(plan, style) : '',
    titled('Timeline', timelineView(report, style), style),
    report.steps.length > 0 ? titled('Steps of the boxes', table(style, stepColumns, report.steps), style) : '',
    plan ? '' : boxesView(report, style),
    stepsView(stepsWhenNotWatching(rollout, open), style),
  )
}

const titled = (title: string, text: string, { paint }: Style) => (text === '' ? '' : `${paint.bold(title)}\n${text}`)

function factsOf(report: Report, style: Style): string {
  const { rollout } = report
  const { paint, now } = style
  return fields(style, [
    ['rollout', paint.bold(rollout.id)],
    ['kind', rollout.kind === 'emergency_cve' ? `emergency ${clean(rollout.cveId ?? '')}` : null],
    ['status', `${paint[rolloutTint(rollout.status)](rolloutState(rollout.status))}${beforeThat(rollout)}`],
    ['because', clean(whyOf(rollout) ?? '')],
    ['boxes', countsText(rollout.counts)],
    ['waiting', waitingText(rollout, now)],
    ['reason', rollout.reason && clean(rollout.reason)],
    ['manifest', `revision ${rollout.manifestRevision}`],
    ...termsOf(rollout),
    ['created', `${stamp(rollout.createdAt, now)} by ${clean(rollout.createdBy)}`],
    ['triggered by', rollout.triggeredBy && clean(rollout.triggeredBy)],
    ['started', stamp(rollout.startedAt, now)],
    ['ended', stamp(rollout.finishedAt, now)],
    [rollout.finishedAt === null ? 'so far' : 'took', tookText(report)],
    ['fences', fenceText(report)],
    ['way back', wayBackText(report)],
  ])
}

const tookText = ({ durationMs, pausedMs }: Report) =>
  durationMs === null ? null : `${duration(durationMs)}${pausedMs > 0 ? `, paused for ${duration(pausedMs)} of it` : ''}`

const fenceText = ({ fence }: Report) =>
  fence &&
  `chat away for ${duration(fence.sumMs)} over ${plural(fence.boxes, 'box', 'boxes')}: ${duration(fence.medianMs)} in the middle, ` +
    `${duration(fence.worstMs)} at worst (${clean(fence.worstSlug)})`

/** From the word for it to its last box; what the boxes took by themselves beside it, for some wait for others. */
function wayBackText({ undo }: Report): string | null {
  if (!undo) return null
  const { startedAt, endedAt, durationMs, boxes } = undo
  const whole = `from ${utc(startedAt)} ${endedAt ? `to ${utc(endedAt)} UTC, ${duration(durationMs)}` : `UTC, ${duration(durationMs)} so far`}`
  if (!boxes) return whole
  return `${whole}: a box took ${duration(boxes.medianMs)} in the middle, ${duration(boxes.worstMs)} at worst (${clean(boxes.worstSlug)})`
}

/** So many are told in full; who has more has one cause, or wants the table. */
const mostTold = 10

function failuresView({ rollout, boxes }: Report, style: Style): string {
  const failures = boxes.filter(hasFailed)
  if (failures.length === 0) return ''
  const { counts } = rollout
  const undone = counts.undo?.undone ?? 0
  const left = counts.undo
    ? counts.undo.failed - boxes.filter(({ status, undo }) => undo?.status === 'failed' && status !== 'succeeded').length
    : 0
  const more = counts.failed + counts.rolledBack - undone + counts.rollbackFailed + left - Math.min(failures.length, mostTold)
  const told = failures.slice(0, mostTold).map((failure) => failureText(failure, style))
  return titled(
    'Failures',
    [...told, ...(more > 0 ? [`and ${more} more: tenantry rollouts show ${rollout.id} --boxes`] : [])].join('\n'),
    style,
  )
}

function failureText(action: RolloutAction, { paint }: Style): string {
  const { tenantSlug, phase, attempt, waived } = action
  const error = errorOf(action)
  const head = `${paint.bold(clean(tenantSlug))}  ${paint[outcomeTint(action)](outcomeWord(action))} in ${phase}${attempt > 1 ? `, attempt ${attempt}` : ''}`
  const why = error ? `${clean(error.message)} [${clean(error.code)}]` : 'the agent did not say why'
  return `${head}\n    ${why}\n    ${outcomeOf(action)}${waived ? '; left out when the rollout went on' : ''}`
}

/** What became of the box itself. */
function outcomeOf({ status, updateOk, snapshotOk, undo, error }: RolloutAction): string {
  if (undo && status === 'rollback_failed') return 'it rests shut to its users, neither as before nor as updated, until somebody mends it'
  if (undo && status === 'succeeded') return 'it serves its users as updated'
  if (undo && status === 'failed') return 'its agent calls it brought back, and what runs in it does not bear that out: look at it'
  if (undo) return `it is on its way back by ${undo.mode}`
  if (status === 'rolled_back') return 'restored: it runs what it ran before'
  if (status === 'rollback_failed') return 'could not be restored: it rests shut to its users until somebody mends it'
  if (snapshotOk && error?.code === 'DIGEST_MISMATCH') return 'it runs an image that it should not: look at it before the rollout goes on'
  if (updateOk) return 'it runs the new version, which was not proven'
  return snapshotOk ? 'it was opened again as it was' : 'nothing was changed in it'
}

const stepColumns: readonly Column<StepSpread>[] = [
  { title: 'STEP', value: ({ step }) => stepWord(step) || step, priority: 1, minWidth: 12 },
  { title: 'BOXES', value: ({ boxes }) => boxes, priority: 3, align: 'right' },
  { title: 'MIDDLE', value: ({ medianMs }) => duration(medianMs), priority: 1, align: 'right' },
  { title: 'WORST', value: ({ worstMs }) => duration(worstMs), priority: 1, align: 'right' },
  { title: 'IN', value: ({ worstSlug }) => worstSlug, priority: 2, minWidth: 20 },
]

/** A rollout of a few boxes is shown whole; of a large one what matters. Failures were told. */
const mostShown = 20

function boxesView({ rollout, boxes, boxesTotal }: Report, style: Style): string {
  const others = boxes.filter((box) => !hasFailed(box))
  const shown = others.slice(0, mostShown)
  if (shown.length === 0) return ''
  const left = boxesTotal - (boxes.length - others.length) - shown.length
  const title = left <= 0 ? 'Boxes' : shown.some(isUnderWay) ? 'Boxes under way, then the longest' : 'Boxes that took longest'
  const more = left > 0 ? `\n${left} more: tenantry rollouts show ${rollout.id} --boxes` : ''
  return titled(title, `${table(style, actionColumns, shown)}${more}`, style)
}
