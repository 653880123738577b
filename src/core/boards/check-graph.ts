import type { ProblemViolation } from '../kit/index.ts'
import type { TriggerPlace } from './check-triggers.ts'
import {
  type BoardDefinition,
  type BoardEdge,
  type BoardElement,
  boundRole,
  boundRoom,
  isLoopWait,
  isWork,
  type RoleRef,
} from './definition.ts'
import { type BoardFinding, error, quote } from './finding.ts'
import { type Graph, outgoing, waits } from './graph.ts'
import type { Steps } from './steps.ts'

/** The findings as the violations of a problem: at most 100. */
export const violationsOf = (findings: readonly BoardFinding[]): ProblemViolation[] =>
  findings.slice(0, 100).map(({ code, message, elementId, path }) => ({
    ...{ code, message },
    ...(elementId === null ? {} : { element: elementId }),
    ...(path === undefined ? {} : { path }),
  }))

/**
 * `unlistedRoles`: those whose users do not see each other as contacts. `rooms`: ids of the rooms of the tenant's spaces. `place`: where the runs
 * of the board happen; none for a template. `now`: without it, no time of the board counts as passed.
 */
export type CheckContext = Readonly<{
  roles: ReadonlySet<string>
  unlistedRoles?: ReadonlySet<string>
  rooms: ReadonlySet<string>
  place?: TriggerPlace
  now?: Date
}>

/** Faults of ids, edges and conditions. While there is one, what tokens do cannot be said. */
export function checkEdges(board: BoardDefinition, graph: Graph): BoardFinding[] {
  const starts = board.elements.filter(({ kind }) => kind === 'start')
  const columns = new Set(board.columns.map(({ id }) => id))
  return [
    ...repeated('ELEMENT', board.elements),
    ...repeated('EDGE', board.edges),
    ...repeated('COLUMN', board.columns),
    ...(starts.length === 0 ? [error('START_MISSING', null, 'the board has no start. fix: add an element of the kind start')] : []),
    ...starts.slice(1).map(({ id }) => error('START_REPEATED', id, 'the board has more than one start. fix: keep one')),
    ...board.edges.flatMap(({ id, source, target }) =>
      [source, target]
        .filter((end) => !graph.elements.has(end))
        .map((end) => error('EDGE_DANGLING', null, `edge ${id} names the element "${end}", which does not exist`)),
    ),
    ...board.elements.flatMap((element) => [
      ...conditionFindings(element, graph),
      ...countFindings(element, graph),
      ...(element.columnId !== null && !columns.has(element.columnId)
        ? [error('COLUMN_UNKNOWN', element.id, `${titled(element)} is in column ${element.columnId}, which does not exist`)]
        : []),
    ]),
  ]
}

const repeated = (what: string, all: readonly Readonly<{ id: string }>[]): BoardFinding[] => {
  const ids = all.map(({ id }) => id)
  const twice = [...new Set(ids.filter((id, nth) => ids.indexOf(id) !== nth))]
  return twice.map((id) => error(`${what}_REPEATED`, what === 'ELEMENT' ? id : null, `the id ${id} is used more than once`))
}

/** How messages name an element. */
export const titled = ({ kind, label }: Pick<BoardElement, 'kind' | 'label'>): string => `${kind} "${label}"`

function conditionFindings(element: BoardElement, graph: Graph): BoardFinding[] {
  const { needed, allowed, many } = outgoing[element.kind]
  const types = graph.out(element.id).map(({ condition }) => condition.type)
  const wrong = [...new Set(types)].filter((type) => ![...needed, ...allowed, ...many].includes(type))
  const twice = [...new Set(types.filter((type, nth) => !many.includes(type) && types.indexOf(type) !== nth))].filter(
    (type) => !wrong.includes(type),
  )
  const isTimed = 'dueAt' in element.config && element.config.dueAt !== undefined
  return [
    ...wrong.map((type) => error('EDGE_CONDITION', element.id, wrongEdge(element, type))),
    ...twice.map((type) => error('EDGE_REPEATED', element.id, `${titled(element)} has more than one edge with the condition ${type}`)),
    ...needed
      .filter((type) => !types.includes(type))
      .map((type) => error('EDGE_MISSING', element.id, `${titled(element)} has no ${nameOfEdge(type)}`)),
    ...(types.includes('timed_out') && !isTimed
      ? [error('DUE_MISSING', element.id, `${titled(element)} has a timed_out edge, but no dueAt`)]
      : []),
  ]
}

/** An edge without a condition is one that is always taken. */
const nameOfEdge = (type: string): string => (type === 'always' ? 'outgoing edge' : `edge with the condition ${type}`)

function wrongEdge(element: BoardElement, type: string): string {
  const { needed, allowed, many } = outgoing[element.kind]
  const right = [...needed, ...allowed, ...many]
  if (right.length === 0) return `${titled(element)} has an outgoing edge, but a run ends there. fix: remove the edge`
  return `${titled(element)} has an edge with the condition ${type}. fix: use ${right.join(', ')}`
}

function countFindings(element: BoardElement, graph: Graph): BoardFinding[] {
  const [out, into] = [graph.out(element.id).length, graph.into(element.id).length]
  if (element.kind === 'start' && into > 0) return [error('START_ENTERED', element.id, 'an edge leads into the start')]
  if (element.kind === 'parallel_split' && out < 2)
    return [error('SPLIT_TOO_FEW', element.id, `${titled(element)} needs at least two outgoing edges`)]
  if (element.kind === 'parallel_join' && into < 2)
    return [error('JOIN_TOO_FEW', element.id, `${titled(element)} needs at least two incoming edges`)]
  const hasExpression = graph.out(element.id).some(({ condition }) => condition.type === 'expression')
  if (element.kind === 'decision' && out < 2 && !hasExpression)
    return [error('DECISION_TOO_FEW', element.id, `${titled(element)} needs an expression edge beside its else edge`)]
  return []
}

/** Elements that no run reaches, that lead to no end, and loops in which nothing waits. */
export function checkPaths(graph: Graph): BoardFinding[] {
  const all = [...graph.elements.values()]
  const start = graph.start ? [graph.start.id] : []
  const reached = closure(start, (id) => graph.out(id).map(({ target }) => target))
  const ends = all.filter(({ kind }) => kind === 'end').map(({ id }) => id)
  const ending = closure(ends, (id) => graph.into(id).map(({ source }) => source))
  return [
    ...all
      .filter(({ id }) => !reached.has(id))
      .map((one) => error('UNREACHABLE', one.id, `${titled(one)} is not reachable from the start`)),
    ...all
      .filter(({ id }) => reached.has(id) && !ending.has(id))
      .map((one) => error('NO_END', one.id, `no path leads from ${titled(one)} to an end`)),
    ...loopsWithoutWait(graph).map((loop) => ({
      ...error('LOOP_WITHOUT_WAIT', loop[0] as string, neverStops(loop, graph)),
      path: loop.slice(0, 200),
    })),
  ]
}

const neverStops = (loop: readonly string[], { elements }: Graph): string =>
  loop.some((id) => waits(elements.get(id) as BoardElement))
    ? 'a loop waits less than a minute, or for a fixed time alone, which passes once. fix: use a duration such as PT1H'
    : 'a loop has no task, checkpoint, form or timer, so it would never stop'

/** Edges that a run takes at once, at least from the second time on: also by a timer or an end of time that is a fixed moment or below a minute. */
function isImmediate({ source, condition }: BoardEdge, { elements }: Graph): boolean {
  const element = elements.get(source) as BoardElement
  if (element.kind === 'timer') return !isLoopWait(element.config.until)
  if (!waits(element)) return true
  const dueAt = 'dueAt' in element.config ? element.config.dueAt : undefined
  return condition.type === 'timed_out' && dueAt !== undefined && !isLoopWait(dueAt)
}

function closure(from: readonly string[], next: (id: string) => readonly string[]): Set<string> {
  const found = new Set(from)
  const queue = [...from]
  for (let id = queue.pop(); id !== undefined; id = queue.pop())
    for (const one of next(id))
      if (!found.has(one)) {
        found.add(one)
        queue.push(one)
      }
  return found
}

/** One loop per strongly connected part of the immediate edges: removes what has no way in or no way on until only loops are left. */
function loopsWithoutWait(graph: Graph): string[][] {
  const immediate = new Set([...graph.edges.values()].filter((edge) => isImmediate(edge, graph)))
  const left = new Set(graph.elements.keys())
  const ways = (id: string) => graph.out(id).filter((edge) => immediate.has(edge) && left.has(edge.target))
  const isEntered = (id: string) => graph.into(id).some((edge) => immediate.has(edge) && left.has(edge.source))
  for (let size = -1; size !== left.size; ) {
    size = left.size
    for (const id of left) if (ways(id).length === 0 || !isEntered(id)) left.delete(id)
  }
  const loops: string[][] = []
  const used = new Set<string>()
  for (const first of left) {
    const walk: string[] = []
    for (let id = first; !used.has(id); id = ways(id)[0]?.target as string) {
      if (walk.includes(id)) {
        loops.push(walk.slice(walk.indexOf(id)))
        break
      }
      walk.push(id)
    }
    for (const id of walk) used.add(id)
  }
  return loops
}

const maxSplits = 100

/** The first split to which its own branches lead back: they begin again, beside those that still wait. Reads at most 100 splits. */
export function* splitInLoop(graph: Graph): Steps<BoardElement | undefined> {
  const next = (id: string) => graph.out(id).map(({ target }) => target)
  const splits = [...graph.elements.values()].filter(({ kind }) => kind === 'parallel_split')
  for (const split of splits.slice(0, maxSplits)) {
    yield
    if (closure(next(split.id), next).has(split.id)) return split
  }
  return undefined
}

/** Roles and rooms that do not exist, and parameters that no binding fills. `isTemplate`: parameters may stay open. */
export function checkReferences(board: BoardDefinition, { roles, rooms }: CheckContext, isTemplate: boolean): BoardFinding[] {
  const known = quote([...roles].join(', '))
  const role = (id: string | null, ref: RoleRef): BoardFinding[] => {
    const name = boundRole(board, ref)
    if (name === undefined) return isTemplate ? [] : [unbound(id, `role ${(ref as { role: string }).role}`)]
    return roles.has(name) ? [] : [error('ROLE_UNKNOWN', id, `the role ${name} does not exist. fix: use one of ${known}`)]
  }
  return [
    ...board.startRoles.flatMap((ref) => role(null, ref)),
    ...board.elements.flatMap((element) => {
      const { id } = element
      const named = isWork(element) ? [element.config.assignedRole, element.config.escalationRole] : []
      const found = named.flatMap((ref) => (ref === undefined ? [] : role(id, ref)))
      if (element.kind !== 'message') return found
      const room = boundRoom(board, element.config.room)
      if (room === undefined) return isTemplate ? found : [...found, unbound(id, `room ${(element.config.room as { room: string }).room}`)]
      return room === 'space' || rooms.has(room)
        ? found
        : [...found, error('ROOM_UNKNOWN', id, `the room ${room} is not a room of a space of this tenant`)]
    }),
  ]
}

const unbound = (id: string | null, what: string): BoardFinding =>
  error('BINDING_MISSING', id, `the parameter ${what} has no value. fix: set it in bindings`)
