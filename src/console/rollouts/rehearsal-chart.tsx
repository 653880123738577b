import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { duration } from '../../core/kit/index.ts'
import type { Course } from './expected-course.ts'
import { rehearsalWords as text } from './rehearsal-words.ts'

const height = 220

type Props = Readonly<{ course: Course; label: string }>

/** Boxes updated, in progress and failed over the simulated time; a line for each phase and each pause. */
// biome-ignore lint/style/noDefaultExport: React loads it with the first rehearsal
export default function RehearsalChart({ course, label }: Props) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = host.current
    if (!element) return
    let chart = draw(element, course)
    const redraw = () => {
      chart.destroy()
      chart = draw(element, course)
    }
    const resize = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
    resize.observe(element)
    const theme = new MutationObserver(redraw)
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', redraw)
    return () => {
      resize.disconnect()
      theme.disconnect()
      scheme.removeEventListener('change', redraw)
      chart.destroy()
    }
  }, [course])
  return (
    <figure className="chart">
      <div ref={host} role="img" aria-label={label} />
      <figcaption className="legend">
        <span className="tone-ok">{text.updated}</span>
        <span className="tone-working">{text.inProgress}</span>
        <span className="tone-failed">{text.failed}</span>
      </figcaption>
    </figure>
  )
}

/** The colour of a token in the present theme, in a form that a canvas knows. */
function colourOf(element: HTMLElement, token: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${token})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function draw(element: HTMLElement, course: Course): uPlot {
  const colour = (token: string) => colourOf(element, token)
  const [dim, line] = [colour('text-dim'), colour('line')]
  const stepped = (uPlot.paths.stepped as NonNullable<typeof uPlot.paths.stepped>)({ align: 1 })
  const series = (token: string, width: number) => ({ stroke: colour(token), width, paths: stepped, points: { show: false } })
  const axis = { stroke: dim, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: '12px system-ui' }
  return new uPlot(
    {
      width: Math.max(240, element.clientWidth),
      height,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [0, Math.max(1, course.endMs)] } },
      axes: [
        { ...axis, values: (_, splits) => splits.map((ms) => (ms === 0 ? '0' : duration(ms))) },
        { ...axis, size: 44, incrs: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500] },
      ],
      series: [{}, series('ok', 2), series('working', 1.5), series('failed', 2)],
      hooks: { draw: [(chart) => marks(chart, course, { dim, failed: colour('failed') })] },
    },
    [[...course.atMs], [...course.updatedAt], [...course.busyAt], [...course.failedAt]],
    element,
  )
}

const minLabelGap = 56

function marks(chart: uPlot, { phases, pausesMs }: Course, colours: Readonly<{ dim: string; failed: string }>): void {
  const { ctx, bbox } = chart
  const ratio = devicePixelRatio
  const vertical = (ms: number, colour: string, dash: number[]) => {
    const x = Math.round(chart.valToPos(ms, 'x', true))
    ctx.strokeStyle = colour
    ctx.lineWidth = ratio
    ctx.setLineDash(dash.map((length) => length * ratio))
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.setLineDash([])
    return x
  }
  ctx.save()
  ctx.font = `${12 * ratio}px system-ui`
  ctx.textAlign = 'left'
  let labelledTo = Number.NEGATIVE_INFINITY
  for (const { phase, fromMs } of phases) {
    const x = vertical(fromMs, colours.dim, [2, 3])
    if (x < labelledTo) continue
    ctx.fillStyle = colours.dim
    ctx.fillText(phase, x + 4 * ratio, bbox.top + 12 * ratio)
    labelledTo = x + Math.max(minLabelGap * ratio, ctx.measureText(phase).width + 8 * ratio)
  }
  for (const atMs of pausesMs) vertical(atMs, colours.failed, [6, 4])
  ctx.restore()
}
