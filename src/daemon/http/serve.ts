import type { z } from 'zod'
import type { ActorOf, Contract, EndpointShape, Multipart, RequestOf, StreamMessage } from '../../core/contract/index.ts'
import type { PushStream } from './event-stream.ts'
import type { Caller } from './incoming-call.ts'
import type { RawRequest, RawResponse } from './raw.ts'
import type { Upload } from './receive-upload.ts'
import type { FileBody } from './send-file.ts'
import type { Tagged } from './tagged.ts'

type Answered<E extends EndpointShape> = E extends { tagged: true } ? Tagged : AnsweredPlain<E>

type AnsweredPlain<E extends EndpointShape> = E['returns'] extends z.ZodType
  ? z.input<E['returns']>
  : E['returns'] extends { kind: 'text' }
    ? string
    : E['returns'] extends { kind: 'sse' }
      ? AsyncIterable<StreamMessage<unknown>> | PushStream
      : E['returns'] extends { kind: 'file' }
        ? FileBody
        : E['returns'] extends { kind: 'raw' }
          ? RawResponse
          : undefined

/** The input of a handler: validated parts, the actor, and a signal that aborts when the client disconnects or the daemon drains. */
type Call<E extends EndpointShape> = RequestOf<E> &
  Readonly<{
    /** The unread file of an endpoint with `multipart`. */
    upload: E['multipart'] extends Multipart<infer Fields> ? Upload<z.output<Fields>> : undefined
    /** The unread request of an endpoint that returns `raw` or declares `unread`. */
    raw: E extends { unread: true } | { returns: { kind: 'raw' } } ? RawRequest : undefined
    actor: ActorOf<E['auth']>
    requestId: string
    address: string
    signal: AbortSignal
    header(name: string): string | undefined
    /** Sets the tenant of a call without platform token (a login), so that the response has its rate limit headers. */
    setTenant(tenantId: string): void
    /** Names tenant and user of a login for the log, before they are proven. */
    setCaller(caller: Caller): void
    /** A value of the header `Set-Cookie`. */
    setCookie(cookie: string): void
  }>

type Handler<E extends EndpointShape> = (call: Call<E>) => Promise<Answered<E>> | Answered<E>

/** An endpoint with its handler. */
export type Served = Readonly<{ endpoint: EndpointShape; handler: (call: never) => unknown }>

export const serve = <E extends EndpointShape>(endpoint: E, handler: Handler<E>): Served => ({ endpoint, handler })

/** One handler for each endpoint of a contract. */
export type Handlers<C extends Contract> = { readonly [Name in keyof C]: Handler<C[Name]> }

/** A contract with its handlers; types ensure that none is missing. */
export const serveContract = <C extends Contract>(contract: C, handlers: Handlers<NoInfer<C>>): readonly Served[] =>
  Object.entries(contract).map(([name, endpoint]) => ({ endpoint, handler: handlers[name] as Served['handler'] }))
