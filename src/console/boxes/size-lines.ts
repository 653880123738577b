import { type BoxSizes, type SizePart, sizeParts } from '../../core/boxes/index.ts'

const dayMs = 86_400_000

type SizeLine = Readonly<{
  part: SizePart
  /** Points of unbroken days, as SVG polylines; a day without a size breaks the line. */
  runs: readonly string[]
  lastBytes: number
}>

export type SizeChart = Readonly<{ lines: readonly SizeLine[]; maxBytes: number; from: string; to: string }>

/** The sizes as lines in a box of `width` by `height`: zero at the bottom, the largest size at the top. Undefined with sizes of fewer than two days. */
export function sizeChart(
  days: readonly BoxSizes[],
  { width, height }: Readonly<{ width: number; height: number }>,
): SizeChart | undefined {
  const [first, last] = [days[0], days.at(-1)]
  if (!first || !last || first.day === last.day) return undefined
  const [startMs, endMs] = [Date.parse(first.day), Date.parse(last.day)]
  const maxBytes = Math.max(1, ...days.flatMap((day) => sizeParts.map((part) => day[part] ?? 0)))
  const x = (day: string) => ((Date.parse(day) - startMs) / (endMs - startMs)) * width
  const y = (bytes: number) => height - (bytes / maxBytes) * height
  const lines = sizeParts.flatMap((part) => {
    const points = days.flatMap(({ day, [part]: bytes }) => (bytes === null ? [] : [{ day, bytes }]))
    const newest = points.at(-1)
    const runs = unbroken(points).map((run) => run.map(({ day, bytes }) => `${round(x(day))},${round(y(bytes))}`).join(' '))
    return newest ? [{ part, runs, lastBytes: newest.bytes }] : []
  })
  return { lines, maxBytes, from: first.day, to: last.day }
}

const round = (value: number): number => Math.round(value * 10) / 10

type Point = Readonly<{ day: string; bytes: number }>

const unbroken = (points: readonly Point[]): readonly (readonly Point[])[] =>
  points.reduce<Point[][]>((runs, point) => {
    const run = runs.at(-1)
    const before = run?.at(-1)
    if (run && before && Date.parse(point.day) - Date.parse(before.day) === dayMs) run.push(point)
    else runs.push([point])
    return runs
  }, [])
