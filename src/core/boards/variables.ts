import type { BoardDefinition, BoardElement, FormField, variableTypes } from './definition.ts'
import type { Graph } from './graph.ts'

export type VariableType = (typeof variableTypes)[number] | 'file' | 'signature'

const typeOfField = ({ kind }: FormField): VariableType => (kind === 'choice' ? 'text' : kind)

/** Every variable of a board with the types that its places declare; more than one is an error of the board. */
export function declaredVariables({
  variables,
  elements,
}: Pick<BoardDefinition, 'variables' | 'elements'>): Map<string, Set<VariableType>> {
  const declared = new Map<string, Set<VariableType>>()
  const add = (name: string, type: VariableType) => declared.set(name, (declared.get(name) ?? new Set()).add(type))
  for (const { name, type } of variables) add(name, type)
  for (const element of elements)
    if (element.kind === 'form') for (const field of element.config.fields) add(field.name, typeOfField(field))
  return declared
}

/**
 * The variables that certainly have a value when a token reaches each element: those of every path to it; after a join those of all
 * branches. A skippable or timed-out form sets nothing.
 */
export function certainVariables({ variables }: Pick<BoardDefinition, 'variables'>, graph: Graph): Map<string, ReadonlySet<string>> {
  const atStart = new Set(variables.filter(({ required }) => required).map(({ name }) => name))
  const all = new Set([...atStart, ...[...graph.elements.values()].flatMap(requiredBy)])
  const reached = new Map<string, ReadonlySet<string>>([...graph.elements.keys()].map((id) => [id, all]))
  if (graph.start) reached.set(graph.start.id, atStart)
  const targetsOf = (id: string) => graph.out(id).map(({ target }) => target)
  // First in, first out, and each once: a join of many branches is computed after them, not after each.
  const waiting = new Set(graph.start ? targetsOf(graph.start.id) : [])
  const visited = new Set(graph.start ? [graph.start.id] : [])
  for (const id of waiting) {
    waiting.delete(id)
    const now = enters(graph, reached, id)
    if (visited.has(id) && now.size === reached.get(id)?.size) continue
    visited.add(id)
    reached.set(id, now)
    for (const target of targetsOf(id)) waiting.add(target)
  }
  return reached
}

const requiredBy = (element: BoardElement): string[] =>
  element.kind === 'form' && !element.config.skippable
    ? element.config.fields.filter(({ required }) => required).map(({ name }) => name)
    : []

function enters(graph: Graph, reached: ReadonlyMap<string, ReadonlySet<string>>, id: string): ReadonlySet<string> {
  const arriving = graph.into(id).map(({ source, condition }) => {
    const from = graph.elements.get(source) as BoardElement
    return new Set([...(reached.get(source) ?? []), ...(condition.type === 'timed_out' ? [] : requiredBy(from))])
  })
  const isJoin = graph.elements.get(id)?.kind === 'parallel_join'
  const all = new Set(arriving.flatMap((names) => [...names]))
  return isJoin ? all : new Set([...all].filter((name) => arriving.every((names) => names.has(name))))
}
