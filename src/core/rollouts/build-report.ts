import { spanMs } from '../kit/index.ts'
import { type Pause, type PhaseSpan, type RollbackSpan, type Spread, type StepSpread, TimelineEntry } from './report-contract.ts'
import { Phase, phaseOrder, type RollbackCounts, type RolloutKind } from './rollout.ts'

/** An entry of the rollout's audit chain that is about the rollout itself. */
type StoryLine = Readonly<{ at: string; actor: string; action: string; data: unknown }>

/** Whose numbers a phase is told with. */
export type PhaseBoxes = Readonly<{ phase: Phase; boxes: number; succeeded: number; failed: number }>

type Story = Readonly<{ kind: RolloutKind; lines: readonly StoryLine[]; boxes: readonly PhaseBoxes[]; now: string }>

const ends = new Set(['rollout.done', 'rollout.failed', 'rollout.rolled_back'])

/** The story of a rollout from what its audit chain has of it. Pure; what other verbs write there is told as it is. */
export function buildTimeline({ kind, lines, boxes, now }: Story): { timeline: TimelineEntry[]; phases: PhaseSpan[]; pauses: Pause[] } {
  const timeline = timelineOf(kind, lines)
  const pauses = pausesOf(timeline, now)
  return { timeline, pauses, phases: phasesOf(timeline, pauses, boxes, now) }
}

function timelineOf(kind: RolloutKind, lines: readonly StoryLine[]): TimelineEntry[] {
  let phase: Phase | null = null
  return lines.map(({ at, actor, action, data }) => {
    const told = (typeof data === 'object' && data !== null ? data : {}) as Partial<
      Record<'to' | 'reason' | 'boxes' | 'cancelled', unknown>
    >
    if (action === 'rollout.started') phase = phaseOrder[kind][0]
    if (action === 'rollout.phase') phase = Phase.safeParse(told.to).data ?? phase
    const boxes = TimelineEntry.shape.boxes.safeParse(told.boxes).data
    const cancelled = TimelineEntry.shape.cancelled.safeParse(told.cancelled).data
    const reason = typeof told.reason === 'string' ? told.reason : null
    return { at, actor, action, phase, reason, ...(boxes && { boxes }), ...(cancelled && { cancelled }) }
  })
}

function pausesOf(timeline: readonly TimelineEntry[], now: string): Pause[] {
  return timeline.flatMap(({ at, actor, action, phase, reason }, index) => {
    if (action !== 'rollout.paused') return []
    const next = timeline.slice(index + 1).find((later) => later.action === 'rollout.resumed' || ends.has(later.action))
    const until = next?.at ?? null
    return [{ at, by: actor, reason: reason ?? '', phase, until, endedBy: next?.actor ?? null, durationMs: spanMs(at, until ?? now) }]
  })
}

function phasesOf(timeline: readonly TimelineEntry[], pauses: readonly Pause[], boxes: readonly PhaseBoxes[], now: string): PhaseSpan[] {
  const begins = timeline.filter(({ action, phase }) => phase !== null && (action === 'rollout.started' || action === 'rollout.phase'))
  const end = timeline.find(({ action }) => ends.has(action))?.at ?? null
  return begins.map(({ at, phase }, index) => {
    const endedAt = begins[index + 1]?.at ?? end
    const own = boxes.find((one) => one.phase === phase) ?? { boxes: 0, succeeded: 0, failed: 0 }
    return {
      phase: phase as Phase,
      startedAt: at,
      endedAt,
      durationMs: spanMs(at, endedAt ?? now),
      pausedMs: sum(pauses.map((pause) => overlap(pause, at, endedAt ?? now, now))),
      ...{ boxes: own.boxes, succeeded: own.succeeded, failed: own.failed },
    }
  })
}

const overlap = (pause: Pause, from: string, to: string, now: string): number => {
  const until = pause.until ?? now
  return spanMs(pause.at > from ? pause.at : from, until < to ? until : to)
}
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** One box and how long something took there. */
type TimedBox = Readonly<{ slug: string; ms: number }>

/** Of none there is nothing to tell. Among equals the first by name is the worst. */
export function spreadOf(took: readonly TimedBox[]): Spread | null {
  const sorted = took.toSorted((a, b) => a.ms - b.ms || (a.slug > b.slug ? -1 : 1))
  const [middle, worst] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted.at(-1)]
  return middle && worst ? { boxes: took.length, medianMs: middle.ms, worstMs: worst.ms, worstSlug: worst.slug } : null
}

/** What the steps of one box took together, whatever the attempts. */
type BoxSteps = Readonly<{ slug: string; steps: readonly Readonly<{ step: string; durationMs: number | null }>[] }>

/** Per step over all boxes, in the order in which steps come; what has not ended counts nowhere. */
export function stepSpreads(boxes: readonly BoxSteps[]): StepSpread[] {
  const took = new Map<string, TimedBox[]>()
  const order = new Map<string, number>()
  for (const { slug, steps } of boxes) {
    for (const [index, { step, durationMs }] of steps.entries()) {
      order.set(step, Math.max(order.get(step) ?? 0, index))
      if (durationMs === null) continue
      const known = took.get(step)
      if (known) known.push({ slug, ms: durationMs })
      else took.set(step, [{ slug, ms: durationMs }])
    }
  }
  const steps = [...took.keys()].toSorted((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0))
  return steps.flatMap((step) => {
    const spread = spreadOf(took.get(step) ?? [])
    return spread ? [{ step, ...spread }] : []
  })
}

/** One box that was on its way back once. */
export type BoxRollbackSpan = Readonly<{ slug: string; startedAt: string; finishedAt: string | null }>

type Whole = Readonly<{ rolledBackAt: string | null; counts: RollbackCounts | null; boxes: readonly BoxRollbackSpan[]; now: string }>

/** How long the way back of a whole rollout took, from the word for it to the end of its last box. Pure. */
export function rollbackSpanOf({ rolledBackAt, counts, boxes, now }: Whole): RollbackSpan | null {
  if (rolledBackAt === null || counts === null) return null
  const goesOn = counts.pending + counts.running > 0
  const ends = boxes.flatMap(({ finishedAt }) => finishedAt ?? []).sort()
  const last = ends.at(-1)
  if (!goesOn && last === undefined) return null
  const endedAt = goesOn ? null : (last ?? null)
  return { startedAt: rolledBackAt, endedAt, durationMs: spanMs(rolledBackAt, endedAt ?? now), boxes: spreadOf(tookOf(boxes)) }
}

function tookOf(boxes: readonly BoxRollbackSpan[]): TimedBox[] {
  const took = new Map<string, number>()
  for (const { slug, startedAt, finishedAt } of boxes)
    if (finishedAt !== null) took.set(slug, (took.get(slug) ?? 0) + spanMs(startedAt, finishedAt))
  return [...took].map(([slug, ms]) => ({ slug, ms }))
}
