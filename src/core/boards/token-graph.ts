import type { BoardElement } from './definition.ts'
import { type Graph, waits } from './graph.ts'

// The part of a board that decides where tokens can be. Parts that cannot change whether a run gets stuck are folded into one edge or one element first, so
// that a board built of nested blocks is explored in a few states.

type TokenNode = Readonly<{ id: string; role: 'start' | 'wait' | 'pass' | 'split' | 'join' | 'end'; terminates: boolean }>

/** `through`: the folded elements that a token passes on it. */
export type TokenEdge = { id: string; source: string; target: string; through: readonly string[] }

export type TokenGraph = Readonly<{
  node(id: string): TokenNode
  out(id: string): readonly TokenEdge[]
  into(id: string): readonly TokenEdge[]
  startId: string
}>

const roles: Partial<Record<BoardElement['kind'], TokenNode['role']>> = {
  start: 'start',
  end: 'end',
  parallel_split: 'split',
  parallel_join: 'join',
}

/** Edges and folded elements read while a board is folded. A board that is not folded to its end is explored as it is then. */
export const maxFoldWork = 4_000_000

/** The token graph of a board whose edges are right. */
export function tokenGraph(graph: Graph, startId: string, work = { left: maxFoldWork }): TokenGraph {
  const nodes = new Map<string, TokenNode>()
  const [outs, ins] = [new Map<string, Set<TokenEdge>>(), new Map<string, Set<TokenEdge>>()]
  for (const element of graph.elements.values()) {
    const { id, kind } = element
    nodes.set(id, {
      id,
      role: roles[kind] ?? (waits(element) ? 'wait' : 'pass'),
      terminates: element.kind === 'end' && element.config.terminate,
    })
    outs.set(id, new Set())
    ins.set(id, new Set())
  }
  const touched = new Set<string>()
  const add = (edge: TokenEdge) => {
    work.left -= edge.through.length
    outs.get(edge.source)?.add(edge)
    ins.get(edge.target)?.add(edge)
    touched.add(edge.source).add(edge.target)
  }
  const remove = (edge: TokenEdge) => {
    outs.get(edge.source)?.delete(edge)
    ins.get(edge.target)?.delete(edge)
    touched.add(edge.source).add(edge.target)
  }
  const counted = (edges: ReadonlySet<TokenEdge> = new Set()) => {
    work.left -= edges.size + 1
    return [...edges]
  }
  for (const id of nodes.keys())
    for (const edge of graph.out(id)) add({ id: edge.id, source: edge.source, target: edge.target, through: [] })
  const waitsBefore = (id: string) => {
    const found: string[] = []
    for (const { source } of ins.get(id) ?? []) {
      work.left -= 1
      if (nodes.get(source)?.role === 'wait' && found.push(source) === 2) break
    }
    return found
  }
  const folding: Folding = {
    node: (id) => nodes.get(id) as TokenNode,
    out: (id) => counted(outs.get(id)),
    into: (id) => counted(ins.get(id)),
    startId,
    add,
    remove,
    drop: (id) => nodes.delete(id),
    waitsBefore,
  }
  const queue = new Set(nodes.keys())
  for (const id of queue) {
    if (work.left < 0) break
    queue.delete(id)
    if (!nodes.has(id)) continue
    touched.clear()
    if (!fold(folding, id)) continue
    for (const one of touched) {
      if (nodes.has(one)) queue.add(one)
      // A rule reads the edges of the elements behind its own only where one edge alone leads to them, or before a join.
      if (ins.get(one)?.size === 1) for (const { source } of ins.get(one) ?? []) queue.add(source)
      if (nodes.get(one)?.role === 'join') for (const source of waitsBefore(one)) queue.add(source)
    }
  }
  return folding
}

type Folding = TokenGraph &
  Readonly<{
    add(edge: TokenEdge): void
    remove(edge: TokenEdge): void
    drop(id: string): void
    /** Waiting elements whose edges lead to this one: the first two. */
    waitsBefore(id: string): readonly string[]
  }>

const fold = (graph: Folding, id: string): boolean =>
  dropTwins(graph, id) ||
  dropSelfLoop(graph, id) ||
  passThrough(graph, id) ||
  fuseChain(graph, id) ||
  leaveJoinPlace(graph, id) ||
  dropWayToJoin(graph, id) ||
  dropAlternatives(graph, id)

/** Two edges of one choice to one element are one; so are two of a split to one join. */
function dropTwins(graph: Folding, id: string): boolean {
  const isSplit = graph.node(id).role === 'split'
  const seen = new Set<string>()
  const twin = graph.out(id).find(({ target }) => {
    if ((graph.node(target).role === 'join') !== isSplit) return false
    if (seen.has(target)) return true
    seen.add(target)
    return false
  })
  if (twin) graph.remove(twin)
  return twin !== undefined
}

/** An edge of a waiting element to itself changes nothing. */
function dropSelfLoop(graph: Folding, id: string): boolean {
  if (graph.node(id).role !== 'wait' || graph.out(id).length < 2) return false
  const loop = graph.out(id).find(({ target }) => target === id)
  if (loop) graph.remove(loop)
  return loop !== undefined
}

/** Where nothing waits, splits or joins, tokens go straight on. */
function passThrough(graph: Folding, id: string): boolean {
  const { role } = graph.node(id)
  const [into, [next, ...others]] = [graph.into(id), graph.out(id)]
  if (!next || others.length > 0 || next.target === id) return false
  const passes = role === 'pass' || role === 'split' || (role === 'join' && into.length === 1)
  if (!passes || (graph.node(next.target).role === 'join' && into.length > 1)) return false
  redirect(graph, id, next)
  return true
}

/** A waiting element that only another one leads to, which leads nowhere else, is one place with it. */
function fuseChain(graph: Folding, id: string): boolean {
  const [next, ...others] = graph.out(id)
  if (graph.node(id).role !== 'wait' || !next || others.length > 0 || next.target === id) return false
  if (graph.node(next.target).role !== 'wait' || graph.into(next.target).length > 1) return false
  const leaving = graph.out(next.target)
  graph.remove(next)
  for (const edge of leaving) {
    graph.remove(edge)
    graph.add({ ...edge, source: id, through: [...next.through, next.target, ...edge.through] })
  }
  graph.drop(next.target)
  return true
}

/**
 * Leaves out a waiting element before a join while another one leads straight to the join: that one stands for both, since the join fires when the
 * last of them ends. One stays, because only there a second token is found that arrives while the first still waits.
 */
function leaveJoinPlace(graph: Folding, id: string): boolean {
  const [[next, ...others], into] = [graph.out(id), graph.into(id)]
  if (graph.node(id).role !== 'wait' || !next || others.length > 0 || into.length !== 1) return false
  if (graph.node(next.target).role !== 'join' || into[0]?.source === next.target) return false
  if (!graph.waitsBefore(next.target).some((other) => other !== id)) return false
  redirect(graph, id, next)
  return true
}

/** An edge of a split to a join adds nothing to a branch of the same split that waits once and leads to the join as well. */
function dropWayToJoin(graph: Folding, id: string): boolean {
  if (graph.node(id).role !== 'split') return false
  const edges = graph.out(id)
  const toJoin = new Map(edges.flatMap((edge) => (graph.node(edge.target).role === 'join' ? [[edge.target, edge] as const] : [])))
  if (toJoin.size === 0) return false
  for (const { target } of edges) {
    if (graph.node(target).role !== 'wait' || graph.into(target).length > 1) continue
    const [next, ...others] = graph.out(target)
    const edge = next && others.length === 0 ? toJoin.get(next.target) : undefined
    if (!edge) continue
    graph.remove(edge)
    return true
  }
  return false
}

/** Several waiting elements between the same two count as one; an edge around them equals leaving at once. */
function dropAlternatives(graph: Folding, id: string): boolean {
  if (graph.node(id).role === 'split') return false
  const between = graph.out(id).flatMap((edge) => {
    const { role } = graph.node(edge.target)
    const [next, ...others] = graph.out(edge.target)
    const isBetween = role === 'wait' && graph.into(edge.target).length === 1 && next && others.length === 0 && edge.target !== id
    return isBetween && graph.node(next.target).role !== 'join' ? [{ edge, next }] : []
  })
  for (const [nth, { next }] of between.entries()) {
    const around = graph.out(id).find(({ target }) => target === next.target && target !== id)
    if (around) {
      graph.remove(around)
      return true
    }
    const twin = between.slice(nth + 1).find((other) => other.next.target === next.target)
    if (twin) {
      graph.remove(twin.edge)
      graph.remove(twin.next)
      graph.drop(twin.edge.target)
      return true
    }
  }
  return false
}

function redirect(graph: Folding, id: string, next: TokenEdge): void {
  graph.remove(next)
  for (const edge of graph.into(id)) {
    graph.remove(edge)
    graph.add({ ...edge, target: next.target, through: [...edge.through, id, ...next.through] })
  }
  graph.drop(id)
}
