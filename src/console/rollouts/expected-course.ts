import { failedStatuses, type Rehearsal } from '../../core/rollouts/index.ts'

/** Points of a chart over time: boxes updated and failed until then, and boxes in an update then. */
export type Course = Readonly<{
  atMs: readonly number[]
  updatedAt: readonly number[]
  failedAt: readonly number[]
  busyAt: readonly number[]
  updated: number
  failed: number
  endMs: number
  phases: readonly Readonly<{ phase: string; fromMs: number }>[]
  pausesMs: readonly number[]
}>

type Change = Readonly<{ atMs: number; busy: number; updated: number; failed: number }>

/** Each begin and end of a box is a step. */
export function courseOf({ boxes, phases, pauses }: Pick<Rehearsal, 'boxes' | 'phases' | 'pauses'>): Course {
  const changes = boxes
    .flatMap(({ beginsMs, endsMs, status }): Change[] => [
      ...(beginsMs === null ? [] : [{ atMs: beginsMs, busy: 1, updated: 0, failed: 0 }]),
      ...(beginsMs === null || endsMs === null
        ? []
        : [{ atMs: endsMs, busy: -1, updated: status === 'succeeded' ? 1 : 0, failed: failedStatuses.includes(status) ? 1 : 0 }]),
    ])
    .toSorted((a, b) => a.atMs - b.atMs)
  const points = new Map<number, Omit<Change, 'atMs'>>([[0, { busy: 0, updated: 0, failed: 0 }]])
  let sum = { busy: 0, updated: 0, failed: 0 }
  for (const { atMs, busy, updated, failed } of changes) {
    sum = { busy: sum.busy + busy, updated: sum.updated + updated, failed: sum.failed + failed }
    points.set(atMs, sum)
  }
  const values = [...points.values()]
  return {
    atMs: [...points.keys()],
    updatedAt: values.map(({ updated }) => updated),
    failedAt: values.map(({ failed }) => failed),
    busyAt: values.map(({ busy }) => busy),
    ...{ updated: sum.updated, failed: sum.failed },
    endMs: changes.at(-1)?.atMs ?? 0,
    phases: phases.flatMap(({ phase, beginsMs, boxes: count }) => (beginsMs === null || count === 0 ? [] : [{ phase, fromMs: beginsMs }])),
    pausesMs: pauses.map(({ atMs }) => atMs),
  }
}
