import type { Request, Response } from 'express'
import { type EndpointShape, isSchema, parsePart, parseQuery } from '../../core/contract/index.ts'
import { type Actor, problem } from '../../core/kit/index.ts'
import { type RawRequest, rawRequest } from './raw.ts'
import { openUpload, type Upload } from './receive-upload.ts'
import { assertShallow, assertStorable } from './validation.ts'

/** The tenant and user that a call without a token names, as far as they exist. */
export type Caller = Readonly<{ tenant?: string | undefined; user?: string | undefined }>

type Incoming = Readonly<{
  endpoint: EndpointShape
  request: Request
  response: Response
  actor: Actor | undefined
  draining: AbortSignal
  /** Rejects when the caller has lost access. */
  revalidate: () => Promise<unknown>
}>

/** The call passed to a handler (typed by `Call`). Address and signal are expensive and created on first use. */
export class IncomingCall {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly upload: Upload | undefined
  readonly raw: RawRequest | undefined
  readonly actor: Actor | undefined
  readonly #incoming: Incoming
  #over: AbortController | undefined

  constructor(incoming: Incoming) {
    const { endpoint, request, response, actor, revalidate } = incoming
    const { multipart } = endpoint
    // Before it is parsed, because a deep value ends the stack, and a wide one takes seconds.
    assertShallow(request.body)
    this.params = endpoint.params && parsePart(endpoint.params, namedParams(request), '')
    this.query = endpoint.query && parseQuery(endpoint.query, request.query)
    this.body = endpoint.body && parsePart(endpoint.body, request.body === undefined ? {} : request.body, '')
    assertStorable(this.params)
    assertStorable(this.query)
    // Container output may contain any text, and agents must be able to report it. It is stored as JSON only.
    if (endpoint.auth.kind !== 'agent') assertStorable(this.body)
    this.upload = multipart && openUpload({ multipart, request, response, revalidate })
    this.raw = isRaw(endpoint) ? rawRequest(request, response, endpoint.path.split('/').length) : undefined
    this.actor = actor
    this.#incoming = incoming
  }

  get requestId(): string {
    return this.#incoming.response.locals.requestId
  }

  get address(): string {
    return this.#incoming.request.ip ?? 'unknown'
  }

  get signal(): AbortSignal {
    return this.#ending().signal
  }

  /** Ends a stream whose caller has lost access. */
  readonly end = (): void => this.#ending().abort(problem('UNAUTHENTICATED', 'The session has ended. fix: log in again'))

  #ending(): AbortController {
    this.#over ??= endSignal(this.#incoming)
    return this.#over
  }

  /** The tenant of the response, if the call has no platform token. */
  tenantId: string | undefined

  readonly setTenant = (tenantId: string): void => {
    this.tenantId = tenantId
  }

  readonly setCaller = (caller: Caller): void => {
    this.#incoming.response.locals.caller = caller
  }

  readonly setCookie = (cookie: string): void => {
    this.#incoming.response.append('set-cookie', cookie)
  }

  /** Bound, because handlers destructure the call. */
  readonly header = (name: string): string | undefined => this.#incoming.request.get(name)
}

/** Without the rest of a path, which `raw` has as it was sent. */
const namedParams = ({ params: { rest: _, ...named } }: Request) => named

const isRaw = ({ returns, unread }: EndpointShape): boolean => unread === true || (!isSchema(returns) && returns.kind === 'raw')

/** Aborts when the client disconnects or the daemon drains. Work that ends by it rejects with its reason, so that is what the caller reads. */
function endSignal({ response, draining }: Incoming): AbortController {
  const left = new AbortController()
  const forget = whenDraining(draining, () => left.abort(problem('UNAVAILABLE', 'The daemon is stopping. Retry in a moment.')))
  const leave = () => {
    forget()
    left.abort(problem('UNAVAILABLE', 'The client disconnected.'))
  }
  response.on('close', leave)
  if (response.closed) leave()
  return left
}

/** One listener per signal serves all calls: adding a listener to a signal with thousands is linear. */
const drainListeners = new WeakMap<AbortSignal, Set<() => void>>()

function whenDraining(draining: AbortSignal, end: () => void): () => void {
  if (draining.aborted) end()
  const ends = drainListeners.get(draining) ?? listenTo(draining)
  ends.add(end)
  return () => void ends.delete(end)
}

function listenTo(draining: AbortSignal): Set<() => void> {
  const ends = new Set<() => void>()
  drainListeners.set(draining, ends)
  draining.addEventListener('abort', () => {
    for (const end of ends) end()
  })
  return ends
}
