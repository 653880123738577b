import { spanMs } from '../kit/index.ts'
import { spreadOf, type Took } from './make-report.ts'
import type { WayBack } from './report.ts'
import type { UndoCounts } from './rollout.ts'

/** One box that was on its way back once. */
export type WentBack = Readonly<{ slug: string; startedAt: string; finishedAt: string | null }>

type Whole = Readonly<{ rolledBackAt: string | null; counts: UndoCounts | null; boxes: readonly WentBack[]; now: string }>

/** How long the way back of a whole rollout took, from the word for it to the end of its last box. Pure. */
export function tellWayBack({ rolledBackAt, counts, boxes, now }: Whole): WayBack | null {
  if (rolledBackAt === null || counts === null) return null
  const goesOn = counts.pending + counts.running > 0
  const ends = boxes.flatMap(({ finishedAt }) => finishedAt ?? []).sort()
  const last = ends.at(-1)
  if (!goesOn && last === undefined) return null
  const endedAt = goesOn ? null : (last ?? null)
  return { startedAt: rolledBackAt, endedAt, durationMs: spanMs(rolledBackAt, endedAt ?? now), boxes: spreadOf(tookOf(boxes)) }
}

function tookOf(boxes: readonly WentBack[]): Took[] {
  const took = new Map<string, number>()
  for (const { slug, startedAt, finishedAt } of boxes)
    if (finishedAt !== null) took.set(slug, (took.get(slug) ?? 0) + spanMs(startedAt, finishedAt))
  return [...took].map(([slug, ms]) => ({ slug, ms }))
}
