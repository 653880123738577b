import type { Graph } from './graph.ts'
import type { Steps } from './steps.ts'
import { type TokenEdge, type TokenGraph, tokenGraph } from './token-graph.ts'

// Explores where the tokens of a run can be, whatever people, conditions and timers decide. A place is a waiting element, or one taken edge
// into a join.

/** `path`: ids of the elements on the way to the fault, first to last; of a long way its end. */
export type TokenFault = Readonly<{
  code: 'DEADLOCK' | 'TOKENS_MEET' | 'JOIN_TWICE' | 'NO_WAY_OUT' | 'TOO_MANY_STATES'
  elementId: string
  path: readonly string[]
}>

export const maxStates = 20_000

/** Elements of a path that a finding shows: a board of 4 MB may have 200 such paths. */
const maxPath = 200

/** Numbers read in one exploration: a few branches with choices have too many states to explore. */
const maxWork = 1_500_000
/** The part of the work that is left for random plays where there are too many states. */
const playWork = 300_000
type Work = { left: number }

/** One bit per place, 16 in each number: an array of small numbers is copied and named faster than a typed one. */
type State = readonly number[]
const bits = 16
type Found = Readonly<{ state: State; from: string | null; via: Via }>

/** The elements on the way to a state, last to first. */
type Via = Readonly<{ id: string; through: readonly string[]; before: Via }> | null

/** All faults of one exploration, each element and code once. The start must be there and no loop may run without waiting. */
export function* exploreTokens(board: Graph): Steps<TokenFault[]> {
  if (!board.start) return []
  const graph = placedGraph(tokenGraph(board, board.start.id))
  const found = new Map<string, Found>()
  const back = new Map<string, string[]>()
  const faults = new Map<string, TokenFault>()
  const queue: string[] = []
  const work: Work = { left: maxWork }
  const fault: Report = (code, elementId, path) => {
    if (!faults.has(`${code} ${elementId}`)) faults.set(`${code} ${elementId}`, { code, elementId, path: path().slice(-maxPath) })
  }
  const arrive = (from: string | null, { state, via, broken }: Outcome) => {
    if (broken) {
      fault(broken.code, broken.elementId, () => [...pathTo(found, from), ...idsOf(via)])
      return
    }
    const key = keyOf(state)
    const before = back.get(key)
    if (from !== null && before) before.push(from)
    else if (from !== null) back.set(key, [from])
    if (found.has(key)) return
    found.set(key, { state, from, via })
    queue.push(key)
  }
  for (const outcome of outcomes(graph, emptyState(graph), { ...graph.start, work })) arrive(null, outcome)
  for (let at = 0; at < queue.length && found.size <= maxStates && work.left >= 0; at++) {
    const key = queue[at] as string
    const { state } = found.get(key) as Found
    const places = placesOf(graph, state)
    const waiting = places.filter(({ isJoin }) => !isJoin)
    yield
    if (waiting.length === 0 && places.length > 0) fault('DEADLOCK', (places[0] as Place).elementId, () => pathTo(found, key))
    for (const place of waiting) {
      const rest = without(state, place)
      for (const into of choices(graph, place.elementId))
        for (const outcome of outcomes(graph, rest, { from: place.elementId, into, work })) arrive(key, outcome)
    }
  }
  if (found.size > maxStates || work.left < 0) {
    yield* playAtRandom(graph, fault)
    fault('TOO_MANY_STATES', graph.start.from, () => [])
    return [...faults.values()]
  }
  if (faults.size === 0)
    for (const key of stuck(found, back)) {
      const waiting = placesOf(graph, (found.get(key) as Found).state).find(({ isJoin }) => !isJoin)
      if (waiting) fault('NO_WAY_OUT', waiting.elementId, () => pathTo(found, key))
    }
  return [...faults.values()]
}

type Report = (code: TokenFault['code'], elementId: string, path: () => readonly string[]) => void

function pathTo(found: ReadonlyMap<string, Found>, key: string | null): string[] {
  const parts: (readonly string[])[] = []
  for (let at = key; at !== null; ) {
    const { from, via } = found.get(at) as Found
    parts.push(idsOf(via))
    at = from
  }
  return withoutRepeats(parts.toReversed().flat())
}

/** A step begins at an element that waits, which the step before may have ended with. */
const withoutRepeats = (ids: readonly string[]): string[] => ids.filter((id, at) => id !== ids[at - 1])

function idsOf(via: Via): string[] {
  const parts: (readonly string[])[] = []
  for (let at = via; at !== null; at = at.before) parts.push([...at.through, at.id])
  return withoutRepeats(parts.toReversed().flat())
}

/** States from which no end can be reached; only meaningful where nothing else is wrong. */
function stuck(found: ReadonlyMap<string, Found>, back: ReadonlyMap<string, readonly string[]>): string[] {
  const end = [...found].find(([, { state }]) => state.every((word) => word === 0))
  const ends = new Set<string>(end ? [end[0]] : [])
  const queue = [...ends]
  for (let key = queue.pop(); key !== undefined; key = queue.pop())
    for (const before of back.get(key) ?? [])
      if (!ends.has(before)) {
        ends.add(before)
        queue.push(before)
      }
  return [...found.keys()].filter((key) => !ends.has(key))
}

type Place = Readonly<{ elementId: string; isJoin: boolean; word: number; bit: number }>
type Start = Readonly<{ from: string; into: readonly TokenEdge[] }>

/** A token graph whose places have numbers, in the order of their names. */
type PlacedGraph = TokenGraph &
  Readonly<{
    places: readonly Place[]
    words: number
    start: Start
    /** The place of a waiting element, or of an edge into a join. */
    waitAt: ReadonlyMap<string, Place>
    joinAt: ReadonlyMap<string, Place>
    /** The places of a join: it fires once each has a token. */
    allOf: ReadonlyMap<string, State>
    /** One character for each edge. */
    nameOf: ReadonlyMap<string, string>
  }>

function placedGraph(graph: TokenGraph): PlacedGraph {
  const ids = reachedFrom(graph)
  const names = ids.flatMap((id): Readonly<{ name: string; elementId: string; edgeId?: string }>[] => {
    const { role } = graph.node(id)
    if (role === 'wait') return [{ name: id, elementId: id }]
    return role === 'join' ? graph.into(id).map((edge) => ({ name: `${id}<${edge.id}`, elementId: id, edgeId: edge.id })) : []
  })
  const inOrder = names.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const words = Math.max(1, Math.ceil(inOrder.length / bits))
  const [places, waitAt, joinAt, allOf] = [[] as Place[], new Map<string, Place>(), new Map<string, Place>(), new Map<string, State>()]
  for (const [nth, { elementId, edgeId }] of inOrder.entries()) {
    const place = { elementId, isJoin: edgeId !== undefined, word: Math.floor(nth / bits), bit: 1 << (nth % bits) }
    places.push(place)
    if (edgeId === undefined) waitAt.set(elementId, place)
    else {
      joinAt.set(edgeId, place)
      allOf.set(elementId, withPlace(allOf.get(elementId) ?? emptyOf(words), place))
    }
  }
  const edges = ids.flatMap((id) => graph.out(id))
  const nameOf = new Map(edges.map(({ id }, nth) => [id, String.fromCharCode(nth)]))
  return { ...graph, places, words, start: { from: graph.startId, into: graph.out(graph.startId) }, waitAt, joinAt, allOf, nameOf }
}

function reachedFrom(graph: TokenGraph): string[] {
  const reached = new Set([graph.startId])
  for (const id of reached) for (const { target } of graph.out(id)) reached.add(target)
  return [...reached]
}

const emptyOf = (words: number): State => Array.from({ length: words }, () => 0)
const emptyState = ({ words }: PlacedGraph): State => emptyOf(words)

const has = (state: State, { word, bit }: Place): boolean => ((state[word] as number) & bit) !== 0

function withPlace(state: State, { word, bit }: Place): State {
  const next = state.slice()
  next[word] = (next[word] as number) | bit
  return next
}

function without(state: State, { word, bit }: Place): State {
  const next = state.slice()
  next[word] = (next[word] as number) & ~bit
  return next
}

const placesOf = ({ places }: PlacedGraph, state: State): Place[] => places.filter((place) => has(state, place))

const keyOf = (state: State): string => String.fromCharCode(...state)

/** The sets of edges that a token may leave by: all edges of a split, one of every other element. A rejection without an edge ends the run. */
const choices = (graph: TokenGraph, id: string): readonly (readonly TokenEdge[])[] =>
  graph.node(id).role === 'split' ? [graph.out(id)] : graph.out(id).map((edge) => [edge])

type Broken = Readonly<{ code: 'TOKENS_MEET' | 'JOIN_TWICE'; elementId: string }>
type Outcome = Readonly<{ state: State; via: Via; broken?: Broken }>
type Moves = Start & Readonly<{ work: Work }>
/** Edges that tokens are on: first the one that moves next. Equal keys: the same edges. */
type Edges = Readonly<{ edge: TokenEdge; others: Edges; key: string }> | null
/** `meets`: another choice may have led to the same state and edges. */
type Open = Readonly<{ state: State; via: Via; edges: Edges; meets?: boolean }>

const ahead = (graph: PlacedGraph, edges: readonly TokenEdge[], others: Edges): Edges =>
  edges.reduceRight<Edges>((rest, edge) => ({ edge, others: rest, key: `${graph.nameOf.get(edge.id)}${rest?.key ?? ''}` }), others)

/** Every state that is reached once the tokens on these edges have come to wait or to an end; some of them where the work is used up. */
function outcomes(graph: PlacedGraph, state: State, { from, into, work }: Moves): Outcome[] {
  const done: Outcome[] = []
  const open: Open[] = [{ state, via: { id: from, through: [], before: null }, edges: ahead(graph, into, null) }]
  const seen = new Set<string>()
  for (let now = open.pop(); now !== undefined && work.left >= 0; now = open.pop()) {
    work.left -= workOf(graph) + (now.edges?.key.length ?? 0)
    if (now.meets) {
      const key = `${keyOf(now.state)}${now.edges?.key ?? ''}`
      if (seen.has(key)) continue
      seen.add(key)
    }
    if (now.edges === null) done.push(now)
    else for (const next of enter(graph, now, now.edges)) ('edges' in next ? open : done).push(next as Open & Outcome)
  }
  return done
}

/** The continuations when the first of the open edges is taken. */
function enter(graph: PlacedGraph, { state, via: before }: Open, { edge, others }: NonNullable<Edges>): (Open | Outcome)[] {
  const { id, role, terminates } = graph.node(edge.target)
  const via = { id, through: edge.through, before }
  switch (role) {
    case 'end':
      return [terminates ? { state: emptyState(graph), via } : { state, via, edges: others, meets: true }]
    case 'join': {
      const place = graph.joinAt.get(edge.id) as Place
      if (has(state, place)) return [{ state, via, broken: { code: 'JOIN_TWICE', elementId: id } }]
      const [joined, all] = [withPlace(state, place), graph.allOf.get(id) as State]
      if (all.some((word, nth) => (word & ~(joined[nth] as number)) !== 0)) return [{ state: joined, via, edges: others }]
      return [{ state: joined.map((word, nth) => word & ~(all[nth] as number)), via, edges: ahead(graph, graph.out(id), others) }]
    }
    case 'wait': {
      const place = graph.waitAt.get(id) as Place
      if (has(state, place)) return [{ state, via, broken: { code: 'TOKENS_MEET', elementId: id } }]
      return [{ state: withPlace(state, place), via, edges: others }]
    }
    default: {
      const meets = graph.into(id).length > 1
      return choices(graph, id).map((taken) => ({ state, via, edges: ahead(graph, taken, others), meets }))
    }
  }
}

const workOf = ({ words }: PlacedGraph): number => words + 10

/**
 * Plays the board to its end with choices at random, the same ones each time: where the states cannot be explored, most faults are still found
 * soon.
 */
function* playAtRandom(graph: PlacedGraph, fault: Report): Steps<void> {
  const work: Work = { left: playWork }
  const pick = picker()
  const maxMoves = graph.places.length * 4 + 100
  while (work.left >= 0) {
    yield
    playOnce(graph, fault, { work, pick, maxMoves })
  }
}

type Pick = <One>(all: readonly One[]) => One
type Play = Readonly<{ work: Work; pick: Pick; maxMoves: number }>

function playOnce(graph: PlacedGraph, fault: Report, { work, pick, maxMoves }: Play): void {
  let { state, via, broken } = oneOutcome(graph, { state: emptyState(graph), via: null }, { ...graph.start, work, pick })
  for (let moves = 0; moves < maxMoves && !broken && work.left >= 0; moves++) {
    const places = placesOf(graph, state)
    work.left -= graph.places.length
    const waiting = places.filter(({ isJoin }) => !isJoin)
    if (waiting.length === 0) {
      if (places.length > 0) fault('DEADLOCK', (places[0] as Place).elementId, () => idsOf(via))
      return
    }
    const place = pick(waiting)
    const from = place.elementId
    const into = pick(choices(graph, from))
    ;({ state, via, broken } = oneOutcome(graph, { state: without(state, place), via }, { from, into, work, pick }))
  }
  if (broken) fault(broken.code, broken.elementId, () => idsOf(via))
}

/** One of the outcomes, chosen at random. */
function oneOutcome(graph: PlacedGraph, { state, via }: Outcome, { from, into, work, pick }: Moves & Readonly<{ pick: Pick }>): Outcome {
  let now: Open | Outcome = { state, via: { id: from, through: [], before: via }, edges: ahead(graph, into, null) }
  // A loop in which nothing waits has no end of its own.
  while (work.left >= 0 && 'edges' in now && now.edges !== null) {
    work.left -= workOf(graph)
    now = pick(enter(graph, now, now.edges))
  }
  return now
}

/** Picks at random, in the same order in every process. */
function picker(): Pick {
  let last = 20_261_125
  return (all) => {
    last = (Math.imul(last, 1_664_525) + 1_013_904_223) >>> 0
    return all[Math.floor((last / 2 ** 32) * all.length)] as (typeof all)[number]
  }
}
