import type { KeyboardEvent } from 'react'

/** Arrows, `j` and `k` go from row to row, Home and End to the ends. */
export function moveFocus(event: KeyboardEvent<HTMLDivElement>, count: number, scrollTo: (index: number) => void): void {
  const steps: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, Home: -count, End: count }
  const step = steps[event.key]
  if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return
  const table = event.currentTarget
  const current = (document.activeElement?.closest('[data-index]') as HTMLElement | null)?.dataset.index
  const from = current === undefined ? (step > 0 ? -1 : count) : Number(current)
  const next = Math.max(0, Math.min(count - 1, from + step))
  event.preventDefault()
  scrollTo(next)
  focusRow(table, next, maxFrames)
}

const maxFrames = 10

/** A row far away is in the page only some frames after the table scrolled to it. */
function focusRow(table: HTMLElement, index: number, frames: number): void {
  const control = table.querySelector<HTMLElement>(`[data-index="${index}"] :is(a, input, button)`)
  if (control) control.focus()
  else if (frames > 0) requestAnimationFrame(() => focusRow(table, index, frames - 1))
}
