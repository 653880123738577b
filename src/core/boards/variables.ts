import { type BoardDefinition, type BoardElement, boardLimits, type FormField, type variableTypes } from './definition.ts'
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

/** The variables that more than one form sets, or a form and the start. */
export function sharedVariables({ variables, elements }: Pick<BoardDefinition, 'variables' | 'elements'>): Set<string> {
  const known = new Set(variables.map(({ name }) => name))
  const shared = new Set<string>()
  for (const element of elements)
    if (element.kind === 'form') for (const { name } of element.config.fields) (known.has(name) ? shared : known).add(name)
  return shared
}

/** The variables that no form takes 0 for. A start variable takes every number. */
export function nonZeroVariables({ variables, elements }: Pick<BoardDefinition, 'variables' | 'elements'>): Set<string> {
  const fields = elements.flatMap((element) => (element.kind === 'form' ? element.config.fields : []))
  const takesZero = (field: FormField) => field.kind !== 'number' || ((field.min ?? 0) <= 0 && (field.max ?? 0) >= 0)
  const zero = new Set([...variables.map(({ name }) => name), ...fields.filter(takesZero).map(({ name }) => name)])
  return new Set(fields.map(({ name }) => name).filter((name) => !zero.has(name)))
}

/** Why a board has too many different variables: every environment of its conditions has all of them. */
export const variableFault = ({ size }: Readonly<{ size: number }>): string | undefined =>
  size <= boardLimits.variables
    ? undefined
    : `the board has ${size} variables; at most ${boardLimits.variables} are possible. fix: use fewer fields with different names`

/** Numbers read in one computation. Strangers send boards of 1 MB, and tenants save boards of 4 MB. */
export const maxVariableWork = 3_000_000

/** One bit per name, 32 in each number. */
type Names = Uint32Array

/** `isKnown` is false where the work is used up; then no variable is certain. `work`: numbers read. */
export type CertainVariables = Readonly<{ isKnown: boolean; work: number; has(elementId: string, name: string): boolean }>

/**
 * The variables among `names` that certainly have a value when a token reaches each element: those of every path to it; after a join those of
 * all branches. A skippable or timed-out form sets nothing.
 */
export function certainVariables(
  { variables }: Pick<BoardDefinition, 'variables'>,
  graph: Graph,
  names: ReadonlySet<string>,
): CertainVariables {
  const bitOf = new Map([...names].map((name, nth) => [name, nth]))
  const words = Math.ceil(bitOf.size / 32)
  const unknown = { isKnown: false, has: () => false }
  if (words * (graph.elements.size + graph.edges.size) > maxVariableWork) return { ...unknown, work: 0 }
  const bitsOf = (all: readonly string[]) => all.flatMap((name) => bitOf.get(name) ?? [])
  const atStart = bitsOf(variables.filter(({ required }) => required).map(({ name }) => name))
  const sets = new Map([...graph.elements].map(([id, element]) => [id, bitsOf(requiredBy(element))]))
  const reached = new Map<string, Names>([...graph.elements.keys()].map((id) => [id, new Uint32Array(words).fill(0xffffffff)]))
  if (graph.start) reached.set(graph.start.id, withBits(new Uint32Array(words), atStart))
  const [, ...order] = forwardOrder(graph)
  let work = 0
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false
    for (const id of order) {
      const into = graph.into(id)
      for (const { source } of into) work += words + (sets.get(source) as number[]).length
      if (work > maxVariableWork) return { ...unknown, work }
      const arriving = into.map(({ source, condition }) =>
        withBits((reached.get(source) as Names).slice(), condition.type === 'timed_out' ? [] : (sets.get(source) as number[])),
      )
      const now = graph.elements.get(id)?.kind === 'parallel_join' ? merged(arriving, (a, b) => a | b) : merged(arriving, (a, b) => a & b)
      if (now.every((word, nth) => word === reached.get(id)?.[nth])) continue
      reached.set(id, now)
      hasChanged = true
    }
  }
  const has = (id: string, name: string) => {
    const bit = bitOf.get(name)
    return bit !== undefined && (((reached.get(id)?.[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) === 1
  }
  return { isKnown: true, work, has }
}

function withBits(names: Names, bits: readonly number[]): Names {
  for (const bit of bits) names[bit >>> 5] = (names[bit >>> 5] as number) | (1 << (bit & 31))
  return names
}

const merged = ([first, ...others]: readonly Names[], merge: (a: number, b: number) => number): Names => {
  const all = first as Names
  for (const other of others) for (let nth = 0; nth < all.length; nth++) all[nth] = merge(all[nth] as number, other[nth] as number)
  return all
}

/** The reachable elements, each after those that lead to it, but for loops: without loops one pass computes all. */
function forwardOrder(graph: Graph): string[] {
  if (!graph.start) return []
  const order: string[] = []
  const open = [{ id: graph.start.id, next: 0 }]
  const entered = new Set([graph.start.id])
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const edge = graph.out(top.id)[top.next++]
    if (edge === undefined) {
      order.push(top.id)
      open.pop()
    } else if (!entered.has(edge.target)) {
      entered.add(edge.target)
      open.push({ id: edge.target, next: 0 })
    }
  }
  return order.toReversed()
}

const requiredBy = (element: BoardElement): string[] =>
  element.kind === 'form' && !element.config.skippable
    ? element.config.fields.filter(({ required }) => required).map(({ name }) => name)
    : []
