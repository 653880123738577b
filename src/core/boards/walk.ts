import { printable } from '../kit/index.ts'
import { escapeMarkdown } from '../reports/index.ts'
import {
  type BoardEdge,
  type BoardElement,
  boundRoom,
  type ConditionType,
  type ElementOf,
  isWork,
  whenAt,
  workerRole,
} from './definition.ts'
import { evaluate, readable } from './expression.ts'
import { quote } from './finding.ts'
import { waits } from './graph.ts'
import type { Board, RunEffect, RunFailure, RunNames, RunState, Token } from './run.ts'
import { fillTemplate } from './template.ts'

/** Elements that one input may pass without a person or a timer. A checked board never comes near. */
const maxSteps = 1_000

/** Characters of messages and reports that one input may write: they are in memory together. */
const maxCharacters = 4_000_000

/** Characters of conditions times those of the longest text that they may read: 0.02 s of CPU, 0.1 s if all are parsed first. */
const maxConditionWork = 100_000_000

/** A character of a condition takes as long as this many characters of a text: 25 ns, and ten times as much when it is first read. */
const minText = 250

/** Characters of one message: chat servers refuse events of more than 64 KB. */
const maxMessage = 20_000
const maxTitle = 200

/** Characters of a filled label: it becomes the title of a task. */
const maxLabel = 200

/** A run while one input is worked in. */
export type Draft = { -readonly [Key in keyof RunState]: RunState[Key] } & {
  effects: RunEffect[]
  /** Work of conditions. */
  work: number
  readonly now: string
  readonly board: Board
  readonly names: RunNames
}

export function fail(draft: Draft, code: RunFailure['code'], at: Readonly<{ elementId: string | null; message: string }>): void {
  draft.failure = { code, ...at }
}

/** Takes edges and all that follow until every token waits or is gone. */
export function walk(draft: Draft, edgeIds: readonly string[]): void {
  const { graph } = draft.board
  const queue = [...edgeIds]
  let characters = 0
  for (let steps = 1; queue.length > 0; steps++) {
    const edge = graph.edges.get(queue[0] as string) as BoardEdge
    const element = graph.elements.get(edge.target) as BoardElement
    const before = draft.effects.length
    draft.work += conditionWork(draft, element)
    const isTooMany = steps > maxSteps || characters > maxCharacters
    const isTooMuch = draft.work > maxConditionWork
    const next = isTooMany ? tooMany(draft, element) : isTooMuch ? tooMuchWork(draft, element) : enter(draft, element, edge)
    for (const effect of draft.effects.slice(before)) characters += lengthOf(effect)
    if (next === 'failed') {
      draft.pending = queue
      return
    }
    if (next === 'terminated') return
    queue.shift()
    queue.push(...next)
  }
}

const lengthOf = (effect: RunEffect): number =>
  effect.type === 'message' ? effect.body.length : effect.type === 'report' ? effect.markdown.length : 0

/** Counted before anything is evaluated: an evaluation cannot be stopped. */
function conditionWork({ board, variables }: Draft, { id, kind }: BoardElement): number {
  if (kind !== 'decision') return 0
  const lengths = board.graph.out(id).map(({ condition }) => (condition.type === 'expression' ? joinedLength(condition.expression) : 0))
  const longest = Object.values(variables).reduce<number>(
    (most, one) => (typeof one === 'string' ? Math.max(most, one.length) : most),
    minText,
  )
  return longest * lengths.reduce((sum, length) => sum + length, 0)
}

/** Each `+` may make the text that all functions of a condition read longer by another one. */
const joinedLength = (expression: string): number => expression.length * expression.split('+').length

function tooMany(draft: Draft, { id }: BoardElement): 'failed' {
  fail(draft, 'TOO_MANY_STEPS', {
    elementId: id,
    message: `more than ${maxSteps} elements or ${maxCharacters} characters of text without a person or a timer`,
  })
  return 'failed'
}

function tooMuchWork(draft: Draft, { id }: BoardElement): 'failed' {
  fail(draft, 'TOO_MUCH_WORK', { elementId: id, message: 'the conditions are too long for the texts that they read' })
  return 'failed'
}

type Next = readonly string[] | 'failed' | 'terminated'

/** The edges that the token takes on, if it does not stay. */
function enter(draft: Draft, element: BoardElement, edge: BoardEdge): Next {
  switch (element.kind) {
    case 'end':
      if (!element.config.terminate) return []
      closeAll(draft)
      return 'terminated'
    case 'parallel_join':
      return join(draft, element.id, edge.id)
    case 'parallel_split':
      return draft.board.graph.out(element.id).map(({ id }) => id)
    case 'decision':
      return decide(draft, element)
    case 'message':
      message(draft, element)
      return edgeBy(draft, element.id, 'always')
    case 'report':
      report(draft, element)
      return edgeBy(draft, element.id, 'always')
    default:
      if (waits(element)) stay(draft, element)
      return []
  }
}

/** The edge of an element with this condition; empty where it has none. */
export const edgeBy = ({ board }: Draft, elementId: string, type: ConditionType): string[] =>
  board.graph
    .out(elementId)
    .filter(({ condition }) => condition.type === type)
    .map(({ id }) => id)
    .slice(0, 1)

function join(draft: Draft, id: string, edgeId: string): readonly string[] {
  const taken = { ...draft.joins[id], [edgeId]: (draft.joins[id]?.[edgeId] ?? 0) + 1 }
  const { graph } = draft.board
  const fires = graph.into(id).every((edge) => (taken[edge.id] ?? 0) > 0)
  const left = Object.fromEntries(
    Object.entries(taken).flatMap(([edge, count]) => (count > (fires ? 1 : 0) ? [[edge, count - (fires ? 1 : 0)]] : [])),
  )
  const { [id]: _, ...others } = draft.joins
  draft.joins = Object.keys(left).length > 0 ? { ...others, [id]: left } : others
  return fires ? edgeBy(draft, id, 'always') : []
}

function decide(draft: Draft, { id }: BoardElement): readonly string[] | 'failed' {
  const { graph, types } = draft.board
  const variables = readable(types, draft.variables)
  for (const edge of graph.out(id)) {
    if (edge.condition.type !== 'expression') continue
    const { expression } = edge.condition
    try {
      if (evaluate(expression, types, variables)) return [edge.id]
    } catch (cause) {
      const why = (cause as Error).message.split('\n', 1)[0]
      fail(draft, 'EXPRESSION_FAILED', { elementId: id, message: `the condition ${quote(expression)} has no value: ${quote(why ?? '')}` })
      return 'failed'
    }
  }
  return edgeBy(draft, id, 'else')
}

/** The id of the next token; messages and reports get one too, which makes each of them unique. */
const nextId = (draft: Draft): string => {
  draft.nextToken += 1
  return `t${draft.nextToken}`
}

type Valued = Pick<Draft, 'variables' | 'startedAt' | 'startedBy' | 'names'>

/** The label of an element with the values of the run, on one line. */
export const labelOf = ({ label }: Pick<BoardElement, 'label'>, values: Valued): string =>
  titleLine(fillTemplate(label, valuesOf(values), { limit: maxLabel }).text)

/** Values of a text: the variables and what every run has (`runNames`). */
const valuesOf = ({ variables, startedAt, startedBy, names }: Valued) => ({
  ...variables,
  startedAt,
  ...(startedBy === null ? {} : { startedBy }),
  ...names,
})

function message(draft: Draft, { id, config }: ElementOf<'message'>): void {
  const { text } = fillTemplate(config.body, valuesOf(draft), { limit: maxMessage })
  draft.effects.push({
    type: 'message',
    tokenId: nextId(draft),
    elementId: id,
    room: boundRoom(draft.board.definition, config.room) ?? 'space',
    body: text,
  })
}

function report(draft: Draft, { id, config }: ElementOf<'report'>): void {
  const values = valuesOf(draft)
  const title = fillTemplate(config.title, values)
  const { text, missing } = fillTemplate(config.template, values, { escapeValue: escapeMarkdown })
  const filled = { title: titleLine(title.text), markdown: text, missing: [...new Set([...title.missing, ...missing])] }
  draft.effects.push({ type: 'report', tokenId: nextId(draft), elementId: id, ...filled })
}

/** A title stays one line of plain text; the rest of a long value is cut. */
const titleLine = (text: string): string => {
  const characters = Array.from(printable(text.replace(/\s+/g, ' ').trim()))
  return characters.length <= maxTitle ? characters.join('') : `${characters.slice(0, maxTitle - 1).join('')}…`
}

function stay(draft: Draft, element: BoardElement): void {
  const due = 'until' in element.config ? element.config.until : 'dueAt' in element.config ? element.config.dueAt : undefined
  const dueAt = due === undefined ? null : whenAt(due, draft.now)
  const token: Token = { id: nextId(draft), elementId: element.id, since: draft.now, dueAt, escalated: false, approvals: [] }
  draft.tokens = [...draft.tokens, token]
  if (isWork(element))
    draft.effects.push({ type: 'opened', token, role: workerRole(draft.board.definition, element.config), label: labelOf(element, draft) })
  if (dueAt === null) return
  if (element.kind === 'timer') draft.effects.push({ type: 'timer_set', tokenId: token.id, name: 'elapsed', at: dueAt })
  else draft.effects.push(...deadline(token.id, draft.now, dueAt))
}

/** A warning at 80 % of the time, and the end of it. */
export const deadline = (tokenId: string | null, from: string, dueAt: string): RunEffect[] => {
  const [begin, end] = [Date.parse(from), Date.parse(dueAt)]
  const warnAt = new Date(begin + (end - begin) * 0.8).toISOString()
  return [
    ...(end > begin ? [{ type: 'timer_set', tokenId, name: 'warn', at: warnAt } as const] : []),
    { type: 'timer_set', tokenId, name: 'due', at: dueAt },
  ]
}

/** Ends one token: its work is closed and its timers are gone. */
export function close(draft: Draft, token: Token, outcome: Extract<RunEffect, { type: 'closed' }>['outcome']): void {
  draft.tokens = draft.tokens.filter(({ id }) => id !== token.id)
  draft.effects.push({ type: 'closed', token, outcome }, { type: 'timers_cleared', tokenId: token.id })
}

export function closeAll(draft: Draft): void {
  for (const token of draft.tokens) close(draft, token, 'cancelled')
  draft.joins = {}
  draft.pending = []
}
