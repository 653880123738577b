import { checkExpressions } from './check.ts'
import { titled } from './check-graph.ts'
import { exploreTokens, type TokenFault } from './check-tokens.ts'
import { type BoardDefinition, type BoardEdge, type BoardElement, boundRole, isWork, workerRole } from './definition.ts'
import { type BoardFinding, error } from './finding.ts'
import { type Graph, graphOf } from './graph.ts'
import type { Board, RunState } from './run.ts'
import { spaceUsesOf } from './space-uses.ts'
import type { Steps } from './steps.ts'

// A failed run that continues with another version of its board. The other version is checked as if it began where the run is: at the elements
// where the run waits, and on the edges that it is to take.

type Move = Readonly<{
  run: RunState
  from: Board
  to: Board
  /** The space of the run, and the one that the other version names. */
  spaceId: string | null
  versionSpaceId: string | null
}>

/** `faults`: what has no place in the other version. `pending`: the edges there that a retry takes. */
type Moved = Readonly<{ pending: readonly string[]; faults: readonly BoardFinding[] }>

/** Whether a failed run can continue with another version, which has no errors of its own. */
export function* moveRun({ run, from, to, ...spaces }: Move): Steps<Moved> {
  const ahead = edgesAhead(run)
  const placed = ahead.map((id) => edgeIn(to.graph, from.graph.edges.get(id)))
  const missing = [
    ...run.tokens.flatMap(({ elementId }) => tokenFaults({ from, to }, elementId)),
    ...ahead.flatMap((id, nth) => (placed[nth] === undefined ? edgeFaults({ from, to }, from.graph.edges.get(id)) : [])),
    ...variableFaults({ from, to }, run),
    ...fileFaults({ from, to }),
    ...spaceFaults(to, spaces),
  ]
  // A join counts the edges again, so that one fires that waited for a branch which the other version does not have.
  const pending = placed.flatMap((edge) => edge?.id ?? [])
  const faults = missing.length > 0 ? missing : yield* continuedFaults(run, to, pending)
  return { pending, faults: firstOfEach(faults) }
}

/** The run in the other version, still failed, for a retry. */
export const movedState = (run: RunState, { pending }: Pick<Moved, 'pending'>): RunState => ({ ...run, joins: {}, pending })

/** The edges that the run took into joins, then those that it is to take. */
const edgesAhead = ({ joins, pending }: RunState): string[] => [
  ...Object.values(joins).flatMap((taken) => Object.entries(taken).flatMap(([id, count]) => Array.from({ length: count }, () => id))),
  ...pending,
]

const hasSameKind = (one: BoardElement | undefined, other: BoardElement | undefined) => one !== undefined && one.kind === other?.kind

/** The edge of a graph that means the same as one of another version: only a join distinguishes the edges that lead to it. */
function edgeIn(graph: Graph, edge: BoardEdge | undefined): BoardEdge | undefined {
  if (!edge) return undefined
  const into = graph.into(edge.target)
  const same = into.find(({ id }) => id === edge.id) ?? into.find(({ source }) => source === edge.source)
  return same ?? (graph.elements.get(edge.target)?.kind === 'parallel_join' ? undefined : into[0])
}

type Versions = Readonly<Pick<Move, 'from' | 'to'>>

function edgeFaults({ from, to }: Versions, edge: BoardEdge | undefined): BoardFinding[] {
  const target = edge && from.graph.elements.get(edge.target)
  if (!target) return [error('ELEMENT_MISSING', null, 'an element where the run is to continue does not exist')]
  if (!hasSameKind(target, to.graph.elements.get(target.id))) return [missingElement(target, 'where the run is to continue')]
  return [error('BRANCH_MISSING', target.id, `the branch that the run took to ${titled(target)} does not exist`)]
}

const missingElement = (element: BoardElement, why: string): BoardFinding =>
  error('ELEMENT_MISSING', element.id, `${titled(element)}, ${why}, does not exist`)

/** The fields that were copied into the task, the timers or the lists of users when the run came to wait. */
function openedAs({ definition }: Board, element: BoardElement): string {
  if (element.kind === 'timer') return JSON.stringify([element.config.until])
  if (!isWork(element)) return ''
  const { dueAt, escalationRole } = element.config
  const approvals = element.kind === 'checkpoint' ? element.config.requiredApprovals : 0
  const escalated = escalationRole === undefined ? null : boundRole(definition, escalationRole)
  return JSON.stringify([workerRole(definition, element.config), escalated, dueAt, approvals])
}

function tokenFaults({ from, to }: Versions, elementId: string): BoardFinding[] {
  const [before, after] = [from.graph.elements.get(elementId), to.graph.elements.get(elementId)]
  if (!before) return [error('ELEMENT_MISSING', elementId, 'an element where the run waits does not exist')]
  if (!after || !hasSameKind(before, after)) return [missingElement(before, 'where the run waits')]
  if (openedAs(from, before) === openedAs(to, after)) return []
  const what = before.kind === 'timer' ? 'time' : 'roles, time or number of approvals'
  return [error('ELEMENT_CHANGED', elementId, `${titled(before)}, where the run waits, has another ${what}`)]
}

function variableFaults({ from, to }: Versions, { variables }: RunState): BoardFinding[] {
  return Object.keys(variables).flatMap((name) => {
    const [before, after] = [from.types.get(name), to.types.get(name)]
    if (after === undefined) return [error('VARIABLE_MISSING', null, `no form and no start variable sets ${name}, which the run has`)]
    if (before === after) return []
    return [error('VARIABLE_TYPES', null, `${name} is ${after}; the run has it as ${before}`)]
  })
}

/** Files of a form are deleted with the run, and those of an erased user: its fields name them. */
function fileFaults({ from, to }: Versions): BoardFinding[] {
  return from.definition.elements.flatMap((form) => {
    const fields = fileFieldsOf(form)
    const known = new Set(fileFieldsOf(to.graph.elements.get(form.id)))
    const lost = fields.find((field) => !known.has(field))
    return lost === undefined ? [] : [error('FILES_MISSING', form.id, `${titled(form)} does not have the field ${lost}`)]
  })
}

const fileFieldsOf = (element: BoardElement | undefined): string[] =>
  element?.kind === 'form'
    ? element.config.fields.flatMap(({ name, kind }) => (kind === 'file' || kind === 'signature' ? [`${name} (${kind})`] : []))
    : []

function spaceFaults({ definition }: Board, { spaceId, versionSpaceId }: Pick<Move, 'spaceId' | 'versionSpaceId'>): BoardFinding[] {
  if (versionSpaceId !== null && versionSpaceId !== spaceId)
    return [error('SPACE_CHANGED', null, 'the board is in another space than the run')]
  const use = spaceUsesOf(definition).find(({ type, room }) => type === 'write' && room === null)
  if (!use || spaceId !== null) return []
  return [error('SPACE_MISSING', use.elementId, 'the board writes into the space of the run, which has none')]
}

/** Faults that would stop the run later. */
function* continuedFaults(
  { tokens, variables }: RunState,
  { definition, types }: Board,
  pending: readonly string[],
): Steps<BoardFinding[]> {
  const places = tokens.map(({ elementId }) => elementId)
  const graph = graphOf(beginningAt(definition, { places, pending }))
  const faults = (yield* exploreTokens(graph)).flatMap(({ code, elementId }) =>
    code === 'TOO_MANY_STATES' ? [] : [error(code, elementId, stuck(code, graph.elements.get(elementId)))],
  )
  const held = Object.keys(variables).map((name) => ({ name, type: 'text', required: true }) as const)
  for (const finding of checkExpressions({ ...definition, variables: held }, graph, types)) {
    if (finding?.code === 'VARIABLE_UNGUARDED') faults.push(finding)
    yield
  }
  return faults
}

const stuck = (code: Exclude<TokenFault['code'], 'TOO_MANY_STATES'>, element: BoardElement | undefined): string => {
  const name = element ? titled(element) : 'an element'
  return {
    DEADLOCK: `${name} waits for a branch that the run does not have`,
    TOKENS_MEET: `the run can reach ${name} twice at the same time`,
    JOIN_TWICE: `one branch of the run can reach ${name} twice`,
    NO_WAY_OUT: `the run can never end at ${name}`,
  }[code]
}

type Beginning = Readonly<{ places: readonly string[]; pending: readonly string[] }>

/** The board with a start that leads to every place of the run. Ids of a board have no spaces, so the new ones are free. */
function beginningAt({ elements, edges }: BoardDefinition, { places, pending }: Beginning): Pick<BoardDefinition, 'elements' | 'edges'> {
  const made = { columnId: null, sortOrder: 0 }
  const always = { condition: { type: 'always' as const }, sortOrder: 0 }
  const [start, split] = [' start', ' split']
  // A join counts each of its edges: the run arrives on the edge itself.
  const entries = [...new Set(pending)].map((id): BoardElement => ({ ...made, id: ` ${id}`, kind: 'report', label: id, config: unread }))
  const entered = new Set(pending)
  return {
    elements: [
      { ...made, id: start, kind: 'start', label: start, config: {} },
      { ...made, id: split, kind: 'parallel_split', label: split, config: {} },
      ...entries,
      ...elements,
    ],
    edges: [
      { ...always, id: start, source: start, target: split },
      ...[...places, ...pending.map((id) => ` ${id}`)].map((target, nth) => ({ ...always, id: ` ${nth}`, source: split, target })),
      ...edges.flatMap((edge) =>
        entered.has(edge.id)
          ? [
              { ...edge, target: ` ${edge.id}` },
              { ...edge, ...always, id: `${edge.id} `, source: ` ${edge.id}` },
            ]
          : [edge],
      ),
    ],
  }
}

const unread = { title: '-', template: '-' }

const firstOfEach = (faults: readonly BoardFinding[]): BoardFinding[] => [
  ...new Map(faults.map((fault) => [`${fault.code} ${fault.elementId} ${fault.message}`, fault])).values(),
]
