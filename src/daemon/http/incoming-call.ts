import type { Request, Response } from 'express'
import { type EndpointShape, parsePart } from '../../core/contract/index.ts'
import { type Actor, problem } from '../../core/kit/index.ts'

type Incoming = Readonly<{ endpoint: EndpointShape; request: Request; response: Response; actor: Actor | undefined; draining: AbortSignal }>

/** What a handler is given (`Call` says its types). Address and signal cost more than most answers, so they are made only when asked for. */
export class IncomingCall {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly actor: Actor | undefined
  readonly #incoming: Incoming
  #signal: AbortSignal | undefined

  constructor(incoming: Incoming) {
    const { endpoint, request, actor } = incoming
    this.params = endpoint.params && parsePart(endpoint.params, request.params, '')
    this.query = endpoint.query && parsePart(endpoint.query, request.query, '')
    this.body = endpoint.body && parsePart(endpoint.body, request.body ?? {}, '')
    refuseNul(this.params)
    refuseNul(this.query)
    // What containers print may hold anything, and an agent must be able to deliver it: it is kept as JSON only.
    if (endpoint.auth.kind !== 'agent') refuseNul(this.body)
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
    this.#signal ??= callSignal(this.#incoming)
    return this.#signal
  }

  /** Whose answer it is, where the call itself did not say so by its token. */
  ofTenant: string | undefined

  readonly tellTenant = (tenantId: string): void => {
    this.ofTenant = tenantId
  }

  /** Bound, because handlers take it out of the call. */
  readonly header = (name: string): string | undefined => this.#incoming.request.get(name)
}

/** PostgreSQL keeps no text with the character NUL. Throws VALIDATION with the path. */
function refuseNul(value: unknown, path: readonly string[] = []): void {
  if (typeof value === 'string' && value.includes('\u0000')) {
    const at = path.join('.') || '(whole)'
    throw problem('VALIDATION', `${at}: must not hold the character NUL`, {
      details: [{ path: at, reason: 'must not hold the character NUL' }],
    })
  }
  if (typeof value === 'object' && value !== null) for (const [key, inner] of Object.entries(value)) refuseNul(inner, [...path, key])
}

/** Aborts when the client leaves or the daemon drains. */
function callSignal({ response, draining }: Incoming): AbortSignal {
  const left = new AbortController()
  const forget = whenDraining(draining, () => left.abort('the daemon drains'))
  const leave = () => {
    forget()
    left.abort('the client left')
  }
  response.on('close', leave)
  if (response.closed) leave()
  return left.signal
}

/** A signal with a thousand listeners looks through all of them for each that comes, so it has one, which tells all calls. */
const told = new WeakMap<AbortSignal, Set<() => void>>()

function whenDraining(draining: AbortSignal, end: () => void): () => void {
  if (draining.aborted) end()
  const ends = told.get(draining) ?? listenTo(draining)
  ends.add(end)
  return () => void ends.delete(end)
}

function listenTo(draining: AbortSignal): Set<() => void> {
  const ends = new Set<() => void>()
  told.set(draining, ends)
  draining.addEventListener('abort', () => {
    for (const end of ends) end()
  })
  return ends
}
