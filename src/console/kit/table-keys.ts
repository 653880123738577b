import { type RefObject, useEffect, useRef } from 'react'
import { isBlocked, isPageItself } from './typing.ts'

type List = Readonly<{ count: number; scrollTo(index: number): void }>

/**
 * `j` and `k` go from row to row, Home and End to the ends; inside the table the arrows do too. Without a focus in any table the first one of
 * the page answers: a fresh page needs no click and no Tab.
 */
export function useTableKeys(table: RefObject<HTMLElement | null>, list: List): void {
  const latest = useRef(list)
  latest.current = list
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { count, scrollTo } = latest.current
      const step = stepOf(event, count)
      const element = table.current
      if (step === undefined || event.altKey || event.ctrlKey || event.metaKey || !element || !answers(element, event)) return
      const from = indexOf(document.activeElement, element) ?? (step > 0 ? -1 : count)
      const next = Math.max(0, Math.min(count - 1, from + step))
      event.preventDefault()
      scrollTo(next)
      focusRow(element, next, maxFrames)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [table])
}

function stepOf({ key }: KeyboardEvent, count: number): number | undefined {
  const steps: Readonly<Record<string, number>> = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, Home: -count, End: count }
  return steps[key]
}

function answers(table: HTMLElement, { key, target, defaultPrevented }: KeyboardEvent): boolean {
  if (defaultPrevented || document.querySelector('[role=dialog], [role=alertdialog]')) return false
  const focused = document.activeElement
  if (table.contains(focused)) return true
  if (focused?.closest('.table') || document.querySelector('main .table') !== table) return false
  // A letter passes by links and buttons; other keys mean something to them.
  return isPageItself(target) || ((key === 'j' || key === 'k') && !isBlocked(target))
}

function indexOf(focused: Element | null, table: HTMLElement): number | undefined {
  const row = focused?.closest<HTMLElement>('[data-index]')
  return row && table.contains(row) ? Number(row.dataset.index) : undefined
}

const maxFrames = 10

/** A row far away is in the page only some frames after the table scrolled to it. Enter then opens the row, whatever stands before its link. */
function focusRow(table: HTMLElement, index: number, frames: number): void {
  const row = table.querySelector<HTMLElement>(`[data-index="${index}"]`)
  if (row) (row.querySelector<HTMLElement>('a') ?? row.querySelector<HTMLElement>('button') ?? row).focus()
  else if (frames > 0) requestAnimationFrame(() => focusRow(table, index, frames - 1))
}
