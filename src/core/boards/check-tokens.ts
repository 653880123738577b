import type { Graph } from './graph.ts'
import { type TokenEdge, type TokenGraph, tokenGraph } from './token-graph.ts'

// Explores where the tokens of a run can be, whatever people, conditions and timers decide. A place is a waiting element, or one taken edge
// into a join.

/** `path`: ids of the elements on the way to the fault, first to last. */
export type TokenFault = Readonly<{
  code: 'DEADLOCK' | 'TOKENS_MEET' | 'JOIN_TWICE' | 'NO_WAY_OUT' | 'TOO_MANY_STATES'
  elementId: string
  path: readonly string[]
}>

export const maxStates = 20_000

/** Places and edges read in one exploration: a few branches with choices have more states than anybody can wait for. */
const maxWork = 10_000_000
type Work = { left: number }

/** Sorted names of places: the waiting element, or `join<edge`. */
type State = readonly string[]
type Found = Readonly<{ state: State; from: string | null; via: readonly string[] }>

const isJoinPlace = (place: string): boolean => place.includes('<')

/** All faults of one exploration, each element and code once. The start must be there and no loop may run without waiting. */
export function exploreTokens(board: Graph): TokenFault[] {
  if (!board.start) return []
  const graph = tokenGraph(board, board.start.id)
  const found = new Map<string, Found>()
  const back = new Map<string, string[]>()
  const faults = new Map<string, TokenFault>()
  const queue: string[] = []
  const work: Work = { left: maxWork }
  const fault = (code: TokenFault['code'], elementId: string, path: () => readonly string[]) => {
    if (!faults.has(`${code} ${elementId}`)) faults.set(`${code} ${elementId}`, { code, elementId, path: path() })
  }
  const arrive = (from: string | null, { places, via, broken }: Outcome) => {
    if (broken) {
      fault(broken.code, broken.elementId, () => [...pathTo(found, from), ...via])
      return
    }
    const key = places.join(' ')
    const before = back.get(key)
    if (from !== null && before) before.push(from)
    else if (from !== null) back.set(key, [from])
    if (found.has(key)) return
    found.set(key, { state: places, from, via })
    queue.push(key)
  }
  for (const outcome of outcomes(graph, [], { from: graph.startId, into: graph.out(graph.startId), work })) arrive(null, outcome)
  for (let at = 0; at < queue.length && found.size <= maxStates && work.left >= 0; at++) {
    const key = queue[at] as string
    const { state } = found.get(key) as Found
    const waiting = state.filter((place) => !isJoinPlace(place))
    if (waiting.length === 0 && state.length > 0) fault('DEADLOCK', (state[0] as string).split('<')[0] as string, () => pathTo(found, key))
    for (const place of waiting) {
      const rest = state.filter((one) => one !== place)
      for (const into of choices(graph, place))
        for (const outcome of outcomes(graph, rest, { from: place, into, work })) arrive(key, outcome)
    }
  }
  if (found.size > maxStates || work.left < 0) {
    fault('TOO_MANY_STATES', graph.startId, () => [])
    return [...faults.values()]
  }
  if (faults.size === 0)
    for (const key of stuck(found, back)) {
      const waiting = (found.get(key) as Found).state.find((place) => !isJoinPlace(place))
      if (waiting !== undefined) fault('NO_WAY_OUT', waiting, () => pathTo(found, key))
    }
  return [...faults.values()]
}

function pathTo(found: ReadonlyMap<string, Found>, key: string | null): string[] {
  const parts: (readonly string[])[] = []
  for (let at = key; at !== null; ) {
    const { from, via } = found.get(at) as Found
    parts.push(via)
    at = from
  }
  return parts.toReversed().flat()
}

/** States from which no end can be reached; only meaningful where nothing else is wrong. */
function stuck(found: ReadonlyMap<string, Found>, back: ReadonlyMap<string, readonly string[]>): string[] {
  const ends = new Set<string>(found.has('') ? [''] : [])
  const queue = [...ends]
  for (let key = queue.pop(); key !== undefined; key = queue.pop())
    for (const before of back.get(key) ?? [])
      if (!ends.has(before)) {
        ends.add(before)
        queue.push(before)
      }
  return [...found.keys()].filter((key) => !ends.has(key))
}

/** The sets of edges that a token may leave by: all edges of a split, one of every other element. A rejection without an edge ends the run. */
const choices = (graph: TokenGraph, id: string): readonly (readonly TokenEdge[])[] =>
  graph.node(id).role === 'split' ? [graph.out(id)] : graph.out(id).map((edge) => [edge])

type Broken = Readonly<{ code: 'TOKENS_MEET' | 'JOIN_TWICE'; elementId: string }>
type Outcome = Readonly<{ places: State; via: readonly string[]; broken?: Broken }>
type Moves = Readonly<{ from: string; into: readonly TokenEdge[]; work: Work }>
type Open = Readonly<{ places: State; via: readonly string[]; edges: readonly TokenEdge[] }>

/** Every state that is reached once the tokens on these edges have come to wait or to an end; some of them where the work is used up. */
function outcomes(graph: TokenGraph, places: State, { from, into, work }: Moves): Outcome[] {
  const done: Outcome[] = []
  const open: Open[] = [{ places, via: [from], edges: into }]
  const seen = new Set<string>()
  for (let now = open.pop(); now !== undefined && work.left >= 0; now = open.pop()) {
    work.left -= now.places.length + now.edges.length + now.via.length + 10
    const key = `${now.places.toSorted().join(' ')} > ${now.edges.map(({ id }) => id).join(' ')}`
    if (seen.has(key)) continue
    seen.add(key)
    if (now.edges.length === 0) done.push({ places: now.places.toSorted(), via: now.via })
    else for (const next of enter(graph, now)) ('edges' in next ? open : done).push(next as Open & Outcome)
  }
  return done
}

/** The continuations when the first of the open edges is taken. */
function enter(graph: TokenGraph, { places, via: before, edges }: Open): (Open | Outcome)[] {
  const [edge, ...others] = edges as [TokenEdge, ...TokenEdge[]]
  const { id, role, terminates } = graph.node(edge.target)
  const via = [...before, ...edge.through, id]
  switch (role) {
    case 'end':
      return [terminates ? { places: [], via } : { places, via, edges: others }]
    case 'join': {
      const place = `${id}<${edge.id}`
      const all = graph.into(id).map((one) => `${id}<${one.id}`)
      const held = new Set(places)
      if (places.includes(place)) return [{ places: [], via, broken: { code: 'JOIN_TWICE', elementId: id } }]
      if (all.some((one) => one !== place && !held.has(one))) return [{ places: [...places, place], via, edges: others }]
      return [{ places: withoutAll(places, all), via, edges: [...graph.out(id), ...others] }]
    }
    case 'wait':
      if (places.includes(id)) return [{ places: [], via, broken: { code: 'TOKENS_MEET', elementId: id } }]
      return [{ places: [...places, id], via, edges: others }]
    default:
      return choices(graph, id).map((taken) => ({ places, via, edges: [...taken, ...others] }))
  }
}

const withoutAll = (places: State, gone: readonly string[]): State => {
  const names = new Set(gone)
  return places.filter((one) => !names.has(one))
}
