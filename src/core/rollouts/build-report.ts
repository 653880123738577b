import { spanMs } from '../kit/index.ts'
import { phaseOrder } from './phases.ts'
import { type Pause, type PhaseSpan, type RollbackSpan, type Spread, type StepSpread, TimelineEntry } from './report-contract.ts'
import { Phase, type RollbackCounts, type RolloutKind } from './rollout.ts'

/** An audit entry about the rollout itself. */
type AuditEntry = Readonly<{ at: string; actor: string; action: string; data: unknown }>

/** The boxes of a phase by outcome. */
export type PhaseBoxes = Readonly<{ phase: Phase; boxes: number; succeeded: number; failed: number }>

type Input = Readonly<{ kind: RolloutKind; lines: readonly AuditEntry[]; boxes: readonly PhaseBoxes[]; now: string }>

const ends = new Set(['rollout.done', 'rollout.failed', 'rollout.rolled_back'])

/** The timeline, phases and pauses of a rollout, from its audit chain. */
export function buildTimeline({ kind, lines, boxes, now }: Input): { timeline: TimelineEntry[]; phases: PhaseSpan[]; pauses: Pause[] } {
  const timeline = timelineOf(kind, lines)
  const pauses = pausesOf(timeline, now)
  return { timeline, pauses, phases: phasesOf({ timeline, pauses, boxes }, now) }
}

function timelineOf(kind: RolloutKind, lines: readonly AuditEntry[]): TimelineEntry[] {
  let phase: Phase | null = null
  return lines.filter(isTold).map(({ at, actor, action, data }) => {
    const known = (typeof data === 'object' && data !== null ? data : {}) as Partial<
      Record<'to' | 'reason' | 'boxes' | 'cancelled', unknown>
    >
    if (action === 'rollout.started') phase = phaseOrder[kind][0]
    if (action === 'rollout.phase') phase = Phase.safeParse(known.to).data ?? phase
    const boxes = TimelineEntry.shape.boxes.safeParse(known.boxes).data
    const cancelled = TimelineEntry.shape.cancelled.safeParse(known.cancelled).data
    const reason = typeof known.reason === 'string' ? known.reason : null
    return { at, actor, action, phase, reason, ...(boxes && { boxes }), ...(cancelled && { cancelled }) }
  })
}

/** The questions before the last one of a gate are in the audit log alone. */
const isTold = ({ action, data }: AuditEntry): boolean =>
  action !== 'rollout.gate' || !['waiting', 'holding'].includes((data as { state?: string } | null)?.state ?? '')

function pausesOf(timeline: readonly TimelineEntry[], now: string): Pause[] {
  return timeline.flatMap(({ at, actor, action, phase, reason }, index) => {
    if (action !== 'rollout.paused') return []
    const next = timeline
      .slice(index + 1)
      .find((later) => later.action === 'rollout.resumed' || later.action === 'rollout.promoted' || ends.has(later.action))
    const until = next?.at ?? null
    return [{ at, by: actor, reason: reason ?? '', phase, until, endedBy: next?.actor ?? null, durationMs: spanMs(at, until ?? now) }]
  })
}

function phasesOf(
  { timeline, pauses, boxes }: Readonly<{ timeline: readonly TimelineEntry[]; pauses: readonly Pause[]; boxes: readonly PhaseBoxes[] }>,
  now: string,
): PhaseSpan[] {
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
      pausedMs: sum(pauses.map((pause) => overlap(pause, { from: at, to: endedAt ?? now }, now))),
      ...{ boxes: own.boxes, succeeded: own.succeeded, failed: own.failed },
    }
  })
}

const overlap = (pause: Pause, { from, to }: Readonly<{ from: string; to: string }>, now: string): number => {
  const until = pause.until ?? now
  return spanMs(pause.at > from ? pause.at : from, until < to ? until : to)
}
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** A duration in one box. */
type TimedBox = Readonly<{ slug: string; ms: number }>

/** Median and maximum; null without boxes. Among equal maxima the first slug counts. */
export function spreadOf(times: readonly TimedBox[]): Spread | null {
  const sorted = times.toSorted((a, b) => a.ms - b.ms || (a.slug > b.slug ? -1 : 1))
  const [median, max] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted.at(-1)]
  return median && max ? { boxes: times.length, medianMs: median.ms, worstMs: max.ms, worstSlug: max.slug } : null
}

/** The steps of one box in all its attempts. */
type BoxSteps = Readonly<{ slug: string; steps: readonly Readonly<{ step: string; durationMs: number | null }>[] }>

/** Spread of each step over all boxes, in the order of steps; steps that have not ended do not count. */
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

/** One attempt to roll a box back. */
export type BoxRollbackSpan = Readonly<{ slug: string; startedAt: string; finishedAt: string | null }>

type Whole = Readonly<{ rolledBackAt: string | null; counts: RollbackCounts | null; boxes: readonly BoxRollbackSpan[]; now: string }>

/** Duration of the rollback of a rollout, from its request to the end of its last box. */
export function rollbackSpanOf({ rolledBackAt, counts, boxes, now }: Whole): RollbackSpan | null {
  if (rolledBackAt === null || counts === null) return null
  const isRunning = counts.pending + counts.running > 0
  const ends = boxes.flatMap(({ finishedAt }) => finishedAt ?? []).sort()
  const last = ends.at(-1)
  if (!isRunning && last === undefined) return null
  const endedAt = isRunning ? null : (last ?? null)
  return { startedAt: rolledBackAt, endedAt, durationMs: spanMs(rolledBackAt, endedAt ?? now), boxes: spreadOf(timesOf(boxes)) }
}

function timesOf(boxes: readonly BoxRollbackSpan[]): TimedBox[] {
  const took = new Map<string, number>()
  for (const { slug, startedAt, finishedAt } of boxes)
    if (finishedAt !== null) took.set(slug, (took.get(slug) ?? 0) + spanMs(startedAt, finishedAt))
  return [...took].map(([slug, ms]) => ({ slug, ms }))
}
