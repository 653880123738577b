import { type CheckContext, checkEdges, checkPaths, checkReferences, splitInLoop, titled } from './check-graph.ts'
import { exploreTokens, maxStates, type TokenFault } from './check-tokens.ts'
import { checkTriggers } from './check-triggers.ts'
import { checkWork } from './check-work.ts'
import type { BoardDefinition, BoardElement, FormField } from './definition.ts'
import { expressionChecker } from './expression.ts'
import { type BoardFinding, error, quote } from './finding.ts'
import { type Graph, graphOf } from './graph.ts'
import { textsOf } from './run.ts'
import { runSteps, type Steps } from './steps.ts'
import { namesIn, runNames } from './template.ts'
import { certainVariables, declaredVariables, nonZeroVariables, type VariableType, variableFault } from './variables.ts'

/**
 * Every fault of a board that can be known before it runs (spec 2.12). Without errors each run ends and no token is ever stuck, whatever
 * people, times and answers decide. `isTemplate`: parameters may be unbound, as at the intake of a flow.
 */
export const checkBoard = (board: BoardDefinition, context: CheckContext, { isTemplate = false } = {}): BoardFinding[] =>
  runSteps(capFindings(findingsOf(board, context, isTemplate)))

/** The same check with pauses. */
export const checkInSteps = (board: BoardDefinition, context: CheckContext): Steps<BoardFinding[]> =>
  capFindings(findingsOf(board, context, false))

function* findingsOf(board: BoardDefinition, context: CheckContext, isTemplate: boolean): Findings {
  const graph = graphOf(board)
  const edges = checkEdges(board, graph)
  yield
  const paths = edges.length > 0 ? [] : checkPaths(graph)
  yield* edges
  yield* paths
  yield
  if (edges.length === 0 && paths.length === 0)
    for (const fault of yield* exploreTokens(graph))
      yield tokenFinding(fault, graph, fault.code === 'TOO_MANY_STATES' ? yield* splitInLoop(graph) : undefined)
  yield
  yield* checkReferences(board, context, isTemplate)
  yield* checkWork(board, context)
  yield* checkFields(board)
  yield* checkVariables(board, graph)
  yield* checkTriggers(board, { rooms: context.rooms, place: isTemplate ? undefined : context.place })
}

const assumption = 'Every condition counts as possible here, whatever the answers are.'

function tokenFinding({ code, elementId, path }: TokenFault, { elements }: Graph, split: BoardElement | undefined): BoardFinding {
  const name = titled(elements.get(elementId) as BoardElement)
  const messages: Readonly<Record<TokenFault['code'], string>> = {
    DEADLOCK: `${name} waits for a branch that never comes. ${assumption}`,
    TOKENS_MEET: `${name} can be reached twice at the same time. fix: join the branches first. ${assumption}`,
    JOIN_TWICE: `one branch can reach ${name} twice before the others do. ${assumption}`,
    NO_WAY_OUT: `a run at ${name} can never end. ${assumption}`,
    TOO_MANY_STATES:
      `the board has too many states (more than ${maxStates}, or too long to explore), so whether a run can get stuck is not known. ` +
      `fix: use fewer parallel branches${split ? `, and let no edge lead back to ${titled(split)} before a join of all its branches` : ''}`,
  }
  const severity = code === 'TOO_MANY_STATES' ? 'warning' : 'error'
  return { severity, code, elementId: split?.id ?? elementId, message: messages[code], path: [...path] }
}

function* checkVariables(board: BoardDefinition, graph: Graph): Findings {
  const declared = declaredVariables(board)
  const types = new Map([...declared].map(([name, [type]]) => [name, type as VariableType]))
  const tooMany = variableFault(declared)
  if (tooMany !== undefined) yield error('VARIABLE_LIMIT', null, tooMany)
  for (const [name, types] of declared)
    if (types.size > 1) yield error('VARIABLE_TYPES', null, `the variable ${name} is ${[...types].join(' and ')}. fix: use two names`)
  for (const name of runNames)
    if (declared.has(name)) yield error('VARIABLE_RESERVED', null, `${name} is set by the run itself. fix: use another name`)
  yield* checkTexts(board, new Set<string>([...declared.keys(), ...runNames]))
  if (tooMany === undefined) yield* checkExpressions(board, graph, types)
}

function* checkTexts({ elements }: BoardDefinition, names: ReadonlySet<string>): Generator<BoardFinding> {
  for (const element of elements)
    for (const name of textsOf(element).flatMap(namesIn))
      if (!names.has(name))
        yield error('VARIABLE_UNKNOWN', element.id, `${titled(element)} names {${name}}, which no form and no start variable sets`)
}

export function* checkExpressions(
  board: Pick<BoardDefinition, 'variables' | 'elements'>,
  graph: Graph,
  types: ReadonlyMap<string, VariableType>,
): Findings {
  const check = expressionChecker(types, nonZeroVariables(board))
  const checked: { id: string; name: string; wrong: string | null; risk: string | undefined; unguarded: readonly string[] }[] = []
  for (const element of graph.elements.values())
    for (const { condition } of graph.out(element.id)) {
      if (condition.type !== 'expression') continue
      const { error: wrong, unguarded, risk } = check(condition.expression)
      const name = `${titled(element)}: the expression \`${quote(condition.expression)}\``
      checked.push({ id: element.id, name, wrong, risk, unguarded: [...unguarded] })
      yield
    }
  const certain = certainVariables(board, graph, new Set(checked.flatMap(({ unguarded }) => unguarded)))
  if (!certain.isKnown) yield tooManyVariables
  for (const { id, name, wrong, risk, unguarded } of checked) {
    if (risk !== undefined) yield mayFail(id, `${name} ${risk}`)
    if (wrong !== null) yield error('EXPRESSION_INVALID', id, `${name} ${quote(wrong)}`)
    for (const one of unguarded)
      if (!certain.has(id, one))
        yield error('VARIABLE_UNGUARDED', id, `${name} reads ${one}, which may have no value. fix: write has(vars.${one}) && …`)
  }
}

const mayFail = (elementId: string, message: string): BoardFinding => ({
  ...{ severity: 'warning', code: 'EXPRESSION_MAY_FAIL', elementId },
  message,
})

const tooManyVariables: BoardFinding = {
  ...{ severity: 'warning', code: 'TOO_MANY_VARIABLES', elementId: null },
  message: 'conditions read too many variables, so each counts as one that may have no value. fix: read fewer variables in conditions',
}

/** Findings of one code that an answer lists. A board of 4 MB can have 400,000. */
const maxOfCode = 200

/** Findings one after the other, and undefined where the check may pause. */
type Findings = Generator<BoardFinding | undefined>

/** The first findings of each code, and one that counts the others. Takes them one by one: all at once may fill the memory. */
function* capFindings(findings: Findings): Steps<BoardFinding[]> {
  const listed: BoardFinding[] = []
  const counts = new Map<string, number>()
  for (const finding of findings) {
    if (finding === undefined) {
      yield
      continue
    }
    const count = (counts.get(finding.code) ?? 0) + 1
    counts.set(finding.code, count)
    if (count <= maxOfCode) listed.push(finding)
  }
  const last = new Map(listed.map((finding) => [finding.code, finding]))
  return listed.flatMap((finding) => {
    const more = (counts.get(finding.code) as number) - maxOfCode
    if (more <= 0 || last.get(finding.code) !== finding) return [finding]
    return [
      finding,
      { severity: finding.severity, code: finding.code, elementId: null, message: `and ${more} more with the code ${finding.code}` },
    ]
  })
}

/** Fields of forms that have the same name, or that no value fits. */
const checkFields = ({ elements }: BoardDefinition): BoardFinding[] =>
  elements.flatMap((element) => {
    if (element.kind !== 'form') return []
    const { fields } = element.config
    const names = fields.map(({ name }) => name)
    const twice = [...new Set(names.filter((name, nth) => names.indexOf(name) !== nth))]
    return [
      ...twice.map((name) => error('FIELD_REPEATED', element.id, `${titled(element)} has two fields named ${name}`)),
      ...fields.flatMap((field) => {
        const why = impossible(field)
        return why === undefined
          ? []
          : [error('FIELD_IMPOSSIBLE', element.id, `${titled(element)}: no value fits the field ${field.name}, because ${why}`)]
      }),
    ]
  })

function impossible(field: FormField): string | undefined {
  if (field.kind === 'text') {
    const { minLength = 0, maxLength } = field
    return minLength > maxLength ? `minLength ${minLength} is more than maxLength ${maxLength}` : undefined
  }
  if (field.kind !== 'number' && field.kind !== 'date') return undefined
  const { min, max } = field
  return min !== undefined && max !== undefined && min > max ? `min ${min} is more than max ${max}` : undefined
}
