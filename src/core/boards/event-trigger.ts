import { Environment } from '@marcbachmann/cel-js'
import { isModuleEvent, type ModuleEventPayload, streamTypeOf } from '../events/index.ts'
import type { TriggerOf } from './definition.ts'
import { expressionLimits, parseAllowed, parseBoolean } from './expression.ts'
import { refusedCallIn } from './expression-functions.ts'
import { misfitIn } from './expression-literals.ts'

// An event trigger starts a run for each event of its type whose expression is true: `event.status == 'done'`.

/** A stored event of the tenant. */
export type TriggerEvent = Readonly<{ seq: number; eventType: string; payload: unknown }>

/** Only events that users can receive start runs. */
export const isTriggerEvent = (eventType: string): boolean => streamTypeOf(eventType) !== undefined

/** Fields of events depend on their type and version, so their types are known at evaluation only. */
const environment = new Environment({ limits: expressionLimits, unlistedVariablesAreDyn: false })
  .registerOperator('double == int', (left: number, right: bigint) => left === Number(right))
  .registerVariable('event', 'map<string, dyn>')

/** Why the expression cannot be used; undefined if it can. */
export function eventExpressionFault(expression: string): string | undefined {
  const read = parseBoolean(environment, expression, { root: 'event', known: undefined })
  return read.error ?? refusedCallIn(read.ast) ?? misfitIn(read.ast, { expression, environment })
}

type Fields = Readonly<Record<string, string | number | boolean | null>>

/** Characters of one text that an expression reads: a tenant may have many triggers, and each reads every event of its type. */
const maxText = 1_000

/** The fields of an event that an expression reads: numbers, truth values, null and the beginnings of the texts of its payload. */
function fieldsOf(payload: unknown): Fields {
  const entries = typeof payload === 'object' && payload !== null ? Object.entries(payload) : []
  const plain = entries.filter(([, value]) => value === null || ['string', 'number', 'boolean'].includes(typeof value))
  return Object.fromEntries(plain.map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, maxText) : value]))
}

/** The fields that the module sent, and its space. */
const fieldsOfModule = ({ payload, moduleId, spaceId }: ModuleEventPayload): Fields => ({
  ...fieldsOf(payload),
  ...fieldsOf({ moduleId, spaceId: spaceId ?? undefined }),
})

/**
 * Whether the event starts a run of a board in this space: it has the type, is not of another space, and the expression is true. Throws an error
 * with a readable message when the expression has no value.
 */
export function eventStarts({ eventType, expression }: TriggerOf<'event'>, spaceId: string, event: TriggerEvent): boolean {
  if (event.eventType !== eventType) return false
  const fields = isModuleEvent(eventType) ? fieldsOfModule(event.payload as ModuleEventPayload) : fieldsOf(event.payload)
  if (fields.spaceId != null && fields.spaceId !== spaceId) return false
  if (expression === null) return true
  const value: unknown = parsed(expression)({ event: fields })
  if (typeof value !== 'boolean') throw new Error(`gives ${typeof value}, not true or false`)
  return value
}

const maxParsed = 1_000
const cache = new Map<string, ReturnType<Environment['parse']>>()

function parsed(expression: string): ReturnType<Environment['parse']> {
  const found = cache.get(expression)
  if (found) return found
  const parsed = parseAllowed(environment, expression)
  if (cache.size >= maxParsed) cache.clear()
  cache.set(expression, parsed)
  return parsed
}

/** The run that caused an event: every event of a run's work names it. */
export const causeOf = ({ payload }: Pick<TriggerEvent, 'payload'>): string | undefined => {
  const { runId } = fieldsOf(payload)
  return typeof runId === 'string' ? runId : undefined
}

/** A run that an event started is one deeper than the run that caused the event; deeper ones do not start. */
export const maxDepth = 5
