import { duration, plural, printable } from '../kit/index.ts'
import type { RolloutAction } from './action.ts'
import { reasonWithout } from './pause-reason.ts'
import type { PhaseSpan, RollbackSpan, RolloutReport, TimelineEntry } from './report-contract.ts'
import type { RollbackCounts } from './rollout.ts'
import { errorOf, hasFailed, whyOf } from './words.ts'

/** The state of the box after the failure. */
export function outcomeAfterFailure({ status, updateOk, snapshotOk, rollback, error }: RolloutAction): string {
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

type Story = Pick<RolloutReport, 'timeline' | 'phases' | 'pauses' | 'rollback' | 'rollout' | 'boxes'>

const rollbackScopes = {
  none: ', updated boxes kept',
  images: ', boxes by their previous images',
  snapshot: ', boxes by their previous snapshots',
} as const satisfies Record<NonNullable<TimelineEntry['boxes']>, string>

const oneLine = (text: string): string => printable(text.replace(/\s+/g, ' ').trim())

/** One line per event; none for a phase without boxes. */
export function timelineText(entry: TimelineEntry, { phases, pauses, rollback, rollout, boxes: actions }: Story): string[] {
  const { at, action, phase, reason, actor, boxes, cancelled } = entry
  const span = phases.find((one) => one.startedAt === at && one.phase === phase && one.boxes > 0)
  if (action === 'rollout.phase') return span ? [phaseText(span)] : []
  if (action === 'rollout.started') return [`started by ${actorName(actor)}`, ...(span ? [phaseText(span)] : [])]
  if (action === 'rollout.gate') return [`gate ${oneLine(reason ?? '')}`]
  const pause = action === 'rollout.paused' ? pauses.find((one) => one.at === at) : undefined
  const isAbort = action === 'rollout.failed' && !actor.startsWith('system:')
  const isNamed = reason === null || (isAbort && reason === `aborted by ${actor}`)
  const why =
    isNamed || isShown(entry, rollout) ? '' : `: ${oneLine(reasonWithout(sentenceOf(reason), actions.filter(hasFailed).map(errorOf)))}`
  const where = pause?.phase ? ` in ${pause.phase}` : ''
  const scope = boxes ? rollbackScopes[boxes] : ''
  const never = cancelled ? `, ${plural(cancelled, 'box', 'boxes')} cancelled` : ''
  const lasted = pause ? `, ${howLong(pause.durationMs, pause.until)}` : ''
  const line = `${isAbort ? 'aborted' : wordOf(action)}${where} by ${actorName(actor)}${scope}${never}${lasted}${why}`
  return action === 'rollout.rolled_back' && rollback ? [line, rollbackEntry(rollback, rollout.counts.rollback)] : [line]
}

const sentenceOf = (reason: string): string => whyOf({ pauseReason: reason, error: null }) ?? ''

/** The view names the reason of the present pause or of the end above the timeline, as it does that of the creation. */
const isShown = ({ action, reason }: TimelineEntry, rollout: Story['rollout']): boolean =>
  reason !== null && (action === 'rollout.created' ? reason === rollout.reason : sentenceOf(reason) === whyOf(rollout))

const wordOf = (action: string) => oneLine(action.replace(/^rollout\./, '').replace(/[._]/g, ' '))
const actorName = (actor: string) => (actor.startsWith('system:') ? 'the engine' : oneLine(actor))
const howLong = (ms: number, ended: string | null) => (ended === null ? `${duration(ms)} elapsed` : `for ${duration(ms)}`)

const rollbackEntry = ({ durationMs, endedAt }: RollbackSpan, counts: RollbackCounts | null): string =>
  `rollback, ${howLong(durationMs, endedAt)}${counts ? `: ${counts.done} of ${plural(counts.total, 'box', 'boxes')} rolled back` : ''}`

function phaseText({ phase, durationMs, endedAt, boxes, succeeded, failed }: PhaseSpan): string {
  const came = `${succeeded} of ${plural(boxes, 'box', 'boxes')} updated${failed > 0 ? `, ${failed} failed` : ''}`
  return `${phase}, ${howLong(durationMs, endedAt)}: ${came}`
}

/** Null where it was not reached: a box that is rolled back to its copy had no snapshot stored yet. */
export const isSnapshotStored = ({ snapshotOk, rolledBack, error }: Pick<RolloutAction, 'snapshotOk' | 'rolledBack' | 'error'>) =>
  snapshotOk === false && rolledBack && error?.code !== 'SNAPSHOT_FAILED' ? null : snapshotOk
