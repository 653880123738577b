import type { BoardStructure } from '../../core/boards/index.ts'
import type { OperatorRunDetail } from '../../core/runs/index.ts'

type Run = Pick<OperatorRunDetail, 'doneElementIds' | 'activeElementIds' | 'status'>
type Element = BoardStructure['elements'][number]
type Edge = BoardStructure['edges'][number]

/** Kinds that wait for a user. The history names them once a user acts, but not when their time ends. */
const work = new Set(['task', 'form', 'checkpoint'])

/** Kinds that the run leaves as soon as it reaches them. */
const passedAtOnce = new Set(['decision', 'parallel_split', 'message', 'report', 'end'])

/**
 * Elements that the run has certainly passed: those with a step in its history, and those without steps of their own that its way to a reached
 * element, or from a task or form that is done, cannot have left out. Where two ways are possible it has neither.
 */
export function passedElements({ elements, edges }: BoardStructure, run: Run): ReadonlySet<string> {
  const byId = new Map(elements.map((one) => [one.id, one]))
  const done = new Set(run.doneElementIds)
  const { into, possible } = waysOf({ elements, edges }, done)
  const reached = new Set([...done, ...run.activeElementIds, ...elements.flatMap(({ id, kind }) => (kind === 'start' ? [id] : []))])
  const ends = elements.filter(({ id, kind }) => kind === 'end' && possible.has(id))
  if (run.status === 'completed' && ends.length === 1) for (const { id } of ends) reached.add(id)
  for (const id of followed({ elements, edges }, run)) reached.add(id)
  for (const id of reached) {
    const sources = new Set(into(id).map(({ source }) => source))
    // A join waits for all ways to it.
    if (sources.size === 1 || byId.get(id)?.kind === 'parallel_join') for (const source of sources) reached.add(source)
  }
  const isPassed = (id: string) => done.has(id) || !(work.has(byId.get(id)?.kind ?? '') || run.activeElementIds.includes(id))
  return new Set([...reached].filter(isPassed))
}

type Graph = Pick<BoardStructure, 'elements' | 'edges'>

/** The elements that the run may have reached by what its history names, and the edges by which. */
function waysOf({ elements, edges }: Graph, done: ReadonlySet<string>) {
  const kinds = new Map(elements.map(({ id, kind }) => [id, kind]))
  const possible = new Set(elements.flatMap(({ id, kind }) => (kind === 'start' ? [id] : [])))
  const mayBeTaken = ({ source, condition }: Edge): boolean =>
    possible.has(source) && (!work.has(kinds.get(source) ?? '') || done.has(source) || condition === 'timed_out')
  const byTarget = new Map(elements.map(({ id }): [string, Edge[]] => [id, []]))
  for (const edge of edges) byTarget.get(edge.target)?.push(edge)
  const into = (id: string) => (byTarget.get(id) ?? []).filter(mayBeTaken)
  const mayBeReached = ({ id, kind }: Element) =>
    into(id).length > 0 && (kind !== 'parallel_join' || into(id).length === byTarget.get(id)?.length)
  for (let found = true; found; ) {
    const more = elements.filter((one) => !possible.has(one.id) && mayBeReached(one))
    for (const { id } of more) possible.add(id)
    found = more.length > 0
  }
  return { into, possible }
}

/**
 * Elements behind the start and behind each task and form that is done. Past a split only while the run has not ended: an end may have stopped
 * all other ways. A failed run may have failed at the next element.
 */
function followed({ elements, edges }: Graph, { doneElementIds, status }: Run): ReadonlySet<string> {
  if (status === 'failed') return new Set()
  const kinds = new Map(elements.map(({ id, kind }) => [id, kind]))
  const found = new Set<string>()
  const isLeft = ({ id, kind }: Element) => kind === 'start' || ((kind === 'task' || kind === 'form') && doneElementIds.includes(id))
  const next = elements.filter(isLeft).flatMap(({ id }) => edges.filter(({ source }) => source === id))
  const taken = next.filter(({ condition }) => condition === 'always')
  for (const { target } of taken) {
    const kind = kinds.get(target) ?? ''
    if (found.has(target) || !passedAtOnce.has(kind)) continue
    found.add(target)
    const out = edges.filter(({ source }) => source === target)
    if (kind === 'parallel_split' ? status !== 'completed' : out.length === 1) taken.push(...out)
  }
  return found
}
