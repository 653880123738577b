import type { BoardDefinition, BoardEdge, BoardElement, ConditionType, ElementKind } from './definition.ts'

/** A board with its edges by element, in their sort order, then that of the list. Edges that name a missing element are left out. */
export type Graph = Readonly<{
  elements: ReadonlyMap<string, BoardElement>
  edges: ReadonlyMap<string, BoardEdge>
  out(id: string): readonly BoardEdge[]
  into(id: string): readonly BoardEdge[]
  start: BoardElement | undefined
}>

export function graphOf({ elements, edges }: Pick<BoardDefinition, 'elements' | 'edges'>): Graph {
  const byId = new Map(elements.map((element) => [element.id, element]))
  const [out, into] = [new Map<string, BoardEdge[]>(), new Map<string, BoardEdge[]>()]
  const inOrder = edges.filter(({ source, target }) => byId.has(source) && byId.has(target)).toSorted(byOrder)
  const add = (edges: Map<string, BoardEdge[]>, id: string, edge: BoardEdge) => {
    const known = edges.get(id)
    if (known) known.push(edge)
    else edges.set(id, [edge])
  }
  for (const edge of inOrder) {
    add(out, edge.source, edge)
    add(into, edge.target, edge)
  }
  return {
    elements: byId,
    edges: new Map(inOrder.map((edge) => [edge.id, edge])),
    out: (id) => out.get(id) ?? [],
    into: (id) => into.get(id) ?? [],
    start: elements.find(({ kind }) => kind === 'start'),
  }
}

/** Edges of one sort order stay in the order of the list. */
export const byOrder = (a: Pick<BoardEdge, 'sortOrder'>, b: Pick<BoardEdge, 'sortOrder'>): number => a.sortOrder - b.sortOrder

/** Elements at which a token waits: for a person, or for a time. */
const waitingKinds: readonly ElementKind[] = ['task', 'checkpoint', 'form', 'timer']
export const waits = ({ kind }: Pick<BoardElement, 'kind'>): boolean => waitingKinds.includes(kind)

type Outgoing = Readonly<{ needed: readonly ConditionType[]; allowed: readonly ConditionType[]; many: readonly ConditionType[] }>

/** The conditions of the edges that leave an element: each of `needed` once, each of `allowed` at most once, `many` any number of times. */
export const outgoing: Readonly<Record<ElementKind, Outgoing>> = {
  start: { needed: ['always'], allowed: [], many: [] },
  task: { needed: ['always'], allowed: ['timed_out'], many: [] },
  checkpoint: { needed: ['approved'], allowed: ['rejected', 'timed_out'], many: [] },
  form: { needed: ['always'], allowed: ['timed_out'], many: [] },
  decision: { needed: ['else'], allowed: [], many: ['expression'] },
  parallel_split: { needed: [], allowed: [], many: ['always'] },
  parallel_join: { needed: ['always'], allowed: [], many: [] },
  timer: { needed: ['always'], allowed: [], many: [] },
  message: { needed: ['always'], allowed: [], many: [] },
  report: { needed: ['always'], allowed: [], many: [] },
  end: { needed: [], allowed: [], many: [] },
}
