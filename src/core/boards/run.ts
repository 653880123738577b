import { type BoardDefinition, type BoardElement, isWork } from './definition.ts'
import type { Variables } from './expression.ts'
import { type Graph, graphOf } from './graph.ts'
import { namesIn } from './template.ts'
import { declaredVariables, sharedVariables, type VariableType } from './variables.ts'

/** `waiting`: for a person; `running`: for a time only. */
export type RunStatus = 'running' | 'waiting' | 'completed' | 'failed'

/** A place where the run waits. A new one has a new id, also at the same element. */
export type Token = Readonly<{
  id: string
  elementId: string
  since: string
  dueAt: string | null
  escalated: boolean
  approvals: readonly Readonly<{ userId: string; at: string }>[]
}>

export type RunFailure = Readonly<{
  /** `TOO_MANY_STEPS`: more than one input may do, so a retry continues. `TOO_MUCH_WORK`: a retry exceeds the limit again. */
  code: 'REJECTED' | 'CANCELLED' | 'EXPRESSION_FAILED' | 'TOO_MANY_STEPS' | 'TOO_MUCH_WORK' | 'DEADLOCK'
  elementId: string | null
  message: string
}>

/** The state of a run: all that decides what happens next. Times are ISO 8601. */
export type RunState = Readonly<{
  status: RunStatus
  startedBy: string | null
  startedAt: string
  finishedAt: string | null
  dueAt: string | null
  tokens: readonly Token[]
  /** How often each incoming edge of a join was taken since it fired last. */
  joins: Readonly<Record<string, Readonly<Record<string, number>>>>
  variables: Variables
  /** Users who submitted a form; with `startedBy` they are the ones that a checkpoint without self-approval refuses. */
  submitters: readonly string[]
  failure: RunFailure | null
  /** Edges that a failed element left to be taken by a retry. */
  pending: readonly string[]
  /** Number of accepted inputs. */
  seq: number
  nextToken: number
  /** Bytes of the values of all submitted forms. */
  submittedBytes: number
}>

/**
 * Values of `{board}` and `{run}` in texts: the name of the board and the id of the run; of `{startedBy}` and `{startedAt}` as a person reads them,
 * else they are the id of the user and an ISO time.
 */
export type RunNames = Readonly<{ board: string; run: string; startedBy?: string; startedAt?: string }>

/** A definition with what is computed from it once. */
export type Board = Readonly<{
  definition: BoardDefinition
  graph: Graph
  types: ReadonlyMap<string, VariableType>
  /** Variables that more than one form, or a form and the start, set. */
  shared: ReadonlySet<string>
  /** The names in its messages, reports and labels of work. */
  names: ReadonlySet<string>
}>

export const compileBoard = (definition: BoardDefinition): Board => ({
  definition,
  graph: graphOf(definition),
  types: new Map([...declaredVariables(definition)].map(([name, [type]]) => [name, type as VariableType])),
  shared: sharedVariables(definition),
  names: new Set(definition.elements.flatMap(textsOf).flatMap(namesIn)),
})

/** The texts of an element that are filled with the values of the run. */
export function textsOf(element: BoardElement): string[] {
  if (element.kind === 'message') return [element.config.body]
  if (element.kind === 'report') return [element.config.title, element.config.template]
  return isWork(element) ? [element.label] : []
}

/** Whether a label of the board names values of the run, which then are in the titles of its tasks. */
export const fillsLabels = ({ definition }: Board): boolean =>
  definition.elements.some((one) => isWork(one) && namesIn(one.label).length > 0)

/** Codes of failures that are decisions of users. */
export const decidedCodes: readonly RunFailure['code'][] = ['CANCELLED', 'REJECTED']

/** Whether the run is completed or a user ended it, so that nothing continues it. */
export const hasEnded = ({ status, failure }: Readonly<{ status: RunStatus; failure: Pick<RunFailure, 'code'> | null }>): boolean =>
  status === 'completed' || (failure !== null && decidedCodes.includes(failure.code))

/** Ids of the elements where the run waits, and of their columns, in the order of the board. */
export function activeOf({ definition }: Board, { tokens }: Pick<RunState, 'tokens'>): { elementIds: string[]; columnIds: string[] } {
  const at = new Set(tokens.map(({ elementId }) => elementId))
  const elements = definition.elements.filter(({ id }) => at.has(id)).toSorted((a, b) => a.sortOrder - b.sortOrder)
  const columns = new Set(elements.map(({ columnId }) => columnId))
  const inOrder = definition.columns.toSorted((a, b) => a.sortOrder - b.sortOrder).filter(({ id }) => columns.has(id))
  return { elementIds: elements.map(({ id }) => id), columnIds: inOrder.map(({ id }) => id) }
}

export type RunInput =
  /** `by`: null when automation completed the task. `tokenId`: whose task it is, where an element that was not checked waits twice. */
  | Readonly<{ type: 'complete'; elementId: string; tokenId?: string; by: string | null }>
  | Readonly<{ type: 'skip' | 'reject'; elementId: string; by: string }>
  | Readonly<{ type: 'submit'; elementId: string; by: string; values: unknown }>
  /** `eligible`: the active users in the role of the checkpoint at this time. */
  | Readonly<{ type: 'approve'; elementId: string; by: string; eligible: readonly string[] }>
  | Readonly<{ type: 'timer'; tokenId: string | null; name: TimerName }>
  | Readonly<{ type: 'cancel' }>
  /** `boardVersion`: of the other version with which the run continues; the caller has moved the run to it. */
  | Readonly<{ type: 'retry'; boardVersion?: number }>

/** `warn` at 80 % of a due time, `due` at its end, `elapsed` of a timer element; without a token they are those of the run. */
export type TimerName = 'warn' | 'due' | 'elapsed'

export type Closed = 'done' | 'approved' | 'rejected' | 'skipped' | 'timed_out' | 'cancelled'

/** Work for the caller, in the same transaction. Messages and reports become jobs, keyed by the token id. */
export type RunEffect =
  /** `role`: null for the user who started the run. `label`: with the values of the run. */
  | Readonly<{ type: 'opened'; token: Token; role: string | null; label: string }>
  | Readonly<{ type: 'closed'; token: Token; outcome: Closed }>
  | Readonly<{ type: 'timer_set'; tokenId: string | null; name: TimerName; at: string }>
  | Readonly<{ type: 'timers_cleared'; tokenId: string | null }>
  | Readonly<{ type: 'message'; tokenId: string; elementId: string; room: string; body: string }>
  | Readonly<{ type: 'report'; tokenId: string; elementId: string; title: string; markdown: string; missing: readonly string[] }>
  | Readonly<{ type: 'sla_warning'; elementId: string | null; dueAt: string }>
  | Readonly<{ type: 'escalated'; elementId: string | null; role: string | null }>
  | Readonly<{ type: 'ended'; status: 'completed' | 'failed' }>

/** `work`: that of conditions; a simulation ends at a sum of it. */
export type Stepped = Readonly<{ run: RunState; effects: readonly RunEffect[]; work?: number }>
