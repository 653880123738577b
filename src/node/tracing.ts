import { AsyncLocalStorage } from 'node:async_hooks'
import { isProblem } from '../core/kit/index.ts'

type Attributes = Readonly<Record<string, string | number>>

/** Names and attributes come from fixed lists and ids; never from bodies, headers or messages. */
export type NewSpan = Readonly<{
  name: string
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  /** The traceparent of another program; default: the current span. */
  parent?: string | undefined
  /** ISO time; default: now. */
  startedAt?: string
  attributes?: Attributes
}>

export type Span = Readonly<{
  traceparent: string
  set(attributes: Attributes): void
  fail(code: string): void
  end(): void
}>

/** Makes spans and sends them to a collector. Where tracing is off there is none. */
export type Tracing = Readonly<{
  start(span: NewSpan): Span
  /** Sends what is left, for at most a second. */
  close(): Promise<void>
}>

type Place = Readonly<{ tracing: Tracing; traceparent: string }>

const places = new AsyncLocalStorage<Place | undefined>()

/** The current span; undefined outside a trace. */
export const traceparent = (): string | undefined => places.getStore()?.traceparent

/** Runs work in a new span. Without tracing it only runs the work. */
export async function inSpan<Result>(
  tracing: Tracing | undefined,
  span: NewSpan,
  work: (span: Span | undefined) => Promise<Result>,
): Promise<Result> {
  if (!tracing) return work(undefined)
  const started = tracing.start({ ...span, parent: span.parent ?? traceparent() })
  try {
    return await places.run({ tracing, traceparent: started.traceparent }, () => work(started))
  } catch (error) {
    started.fail(isProblem(error) ? error.code : 'INTERNAL')
    throw error
  } finally {
    started.end()
  }
}

/** A part of the current span. Outside a trace it only runs the work. */
export const inChildSpan = <Result>(name: string, work: (span: Span | undefined) => Promise<Result>): Promise<Result> =>
  inSpan(places.getStore()?.tracing, { name, kind: 'internal' }, work)

/** Runs work as part of a trace that was stored. */
export const inTrace = <Result>(tracing: Tracing | undefined, stored: string | null | undefined, work: () => Result): Result =>
  tracing && stored ? places.run({ tracing, traceparent: stored }, work) : work()

/** Runs work that belongs to no trace, such as what repeats often. */
export const outsideTrace = <Result>(work: () => Result): Result => (places.getStore() ? places.run(undefined, work) : work())
