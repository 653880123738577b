import type { BoardStructure } from '../../core/boards/index.ts'
import type { OperatorRunDetail } from '../../core/runs/index.ts'

type Run = Pick<OperatorRunDetail, 'doneElementIds' | 'activeElementIds' | 'status'>

/** Kinds of which the history has no step. */
const silent = new Set(['start', 'parallel_split', 'parallel_join', 'end'])

/**
 * Elements that the run has passed: those with a step in its history, and those without steps of their own that lie between reached ones. A
 * start leads to all; an end is reached only by a completed run.
 */
export function passedElements(
  { elements, edges }: BoardStructure,
  { doneElementIds, activeElementIds, status }: Run,
): ReadonlySet<string> {
  const passed = new Set(doneElementIds)
  const isReached = (id: string) => passed.has(id) || activeElementIds.includes(id)
  const isPassed = ({ id, kind }: BoardStructure['elements'][number]): boolean => {
    if (kind === 'start') return true
    const comesFromPassed = edges.some(({ source, target }) => target === id && passed.has(source))
    if (kind === 'end') return comesFromPassed && status === 'completed'
    const next = edges.filter(({ source }) => source === id).map(({ target }) => target)
    const leadsToEnd = next.some((one) => elements.some((other) => other.id === one && other.kind === 'end'))
    return comesFromPassed && (next.some(isReached) || (leadsToEnd && status === 'completed'))
  }
  for (let found = true; found; ) {
    const more = elements.filter((one) => silent.has(one.kind) && !passed.has(one.id) && isPassed(one))
    for (const { id } of more) passed.add(id)
    found = more.length > 0
  }
  return passed
}
