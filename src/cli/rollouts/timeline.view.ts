import { duration, plural } from '../../core/kit/index.ts'
import type { PhaseSpan, RollbackCounts, RollbackSpan, RolloutReport, TimelineEntry } from '../../core/rollouts/index.ts'
import { clean, fields, type Style } from '../kit/index.ts'
import { whyOf } from './words.ts'

type Story = Pick<RolloutReport, 'timeline' | 'phases' | 'pauses' | 'undo' | 'rollout'>

/** Who did what when, a sentence each, none of it cut; phases without boxes passed at once and are not told. */
export function timelineView(story: Story, style: Style): string {
  const told = story.timeline.flatMap((entry) => sentences(entry, story).map((text) => [utc(entry.at), text] as const))
  return fields(style, told)
}

/** What was lost by it, or not. */
const backTexts = {
  none: ', its updated boxes stay so',
  images: ', its updated boxes by their former images',
  snapshot: ', its updated boxes by their snapshots from before',
} as const satisfies Record<NonNullable<TimelineEntry['boxes']>, string>

export const utc = (at: string) => at.slice(0, 19).replace('T', ' ')

function sentences(entry: TimelineEntry, { phases, pauses, undo, rollout }: Story): string[] {
  const { at, action, phase, reason, actor, boxes, cancelled } = entry
  const span = phases.find((one) => one.startedAt === at && one.phase === phase && one.boxes > 0)
  if (action === 'rollout.phase') return span ? [phaseText(span)] : []
  if (action === 'rollout.started') return [`started by ${who(actor)}`, ...(span ? [phaseText(span)] : [])]
  const pause = action === 'rollout.paused' ? pauses.find((one) => one.at === at) : undefined
  const isAbort = action === 'rollout.failed' && !actor.startsWith('system:')
  const why =
    reason === null || (isAbort && reason === `aborted by ${actor}`) ? '' : `: ${clean(whyOf({ pauseReason: reason, error: null }) ?? '')}`
  const where = pause?.phase ? ` in ${pause.phase}` : ''
  const back = boxes ? backTexts[boxes] : ''
  const never = cancelled ? `, ${plural(cancelled, 'box', 'boxes')} cancelled before ${cancelled === 1 ? 'its' : 'their'} turn` : ''
  const lasted = pause ? `, ${howLong(pause.durationMs, pause.until)}` : ''
  const told = `${isAbort ? 'aborted' : wordOf(action)}${where} by ${who(actor)}${back}${never}${lasted}${why}`
  return action === 'rollout.rolled_back' && undo ? [told, wayBackText(undo, rollout.counts.undo)] : [told]
}

const wordOf = (action: string) => clean(action.replace(/^rollout\./, '').replace(/[._]/g, ' '))
const who = (actor: string) => (actor.startsWith('system:') ? 'the engine' : clean(actor))
const howLong = (ms: number, ended: string | null) => (ended === null ? `${duration(ms)} so far` : `for ${duration(ms)}`)

const wayBackText = ({ durationMs, endedAt }: RollbackSpan, counts: RollbackCounts | null): string =>
  `way back, ${howLong(durationMs, endedAt)}${counts ? `: ${counts.undone} of ${plural(counts.total, 'box', 'boxes')} brought back` : ''}`

function phaseText({ phase, durationMs, endedAt, boxes, succeeded, failed }: PhaseSpan): string {
  const came = `${succeeded} of ${plural(boxes, 'box', 'boxes')} updated${failed > 0 ? `, ${failed} failed` : ''}`
  return `${phase}, ${howLong(durationMs, endedAt)}: ${came}`
}
