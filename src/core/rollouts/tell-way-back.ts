import { spanMs } from '../kit/index.ts'
import { spreadOf, type TimedBox } from './make-report.ts'
import type { RollbackSpan } from './report.ts'
import type { RollbackCounts } from './rollout.ts'

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
