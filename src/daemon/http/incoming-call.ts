import type { Request, Response } from 'express'
import { type EndpointShape, parsePart } from '../../core/contract/index.ts'
import type { Actor } from '../../core/kit/index.ts'
import { openUpload, type Upload } from './receive-upload.ts'
import { refuseUnkept } from './refuse-unkept.ts'

type Incoming = Readonly<{
  endpoint: EndpointShape
  request: Request
  response: Response
  actor: Actor | undefined
  draining: AbortSignal
  /** Rejects when the caller may not call any more. */
  stands: () => Promise<unknown>
}>

/** What a handler is given (`Call` says its types). Address and signal cost more than most answers, so they are made only when asked for. */
export class IncomingCall {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly upload: Upload | undefined
  readonly actor: Actor | undefined
  readonly #incoming: Incoming
  #over: AbortController | undefined

  constructor(incoming: Incoming) {
    const { endpoint, request, response, actor, stands } = incoming
    const { multipart } = endpoint
    this.params = endpoint.params && parsePart(endpoint.params, request.params, '')
    this.query = endpoint.query && parsePart(endpoint.query, request.query, '')
    this.body = endpoint.body && parsePart(endpoint.body, request.body === undefined ? {} : request.body, '')
    refuseUnkept(this.params)
    refuseUnkept(this.query)
    // What containers print may hold anything, and an agent must be able to deliver it: it is kept as JSON only.
    if (endpoint.auth.kind !== 'agent') refuseUnkept(this.body)
    this.upload = multipart && openUpload({ multipart, request, response, stands })
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

  /** Ends a stream whose caller may not hear it any more. */
  readonly end = (): void => this.#ending().abort('the caller lost its standing')

  #ending(): AbortController {
    this.#over ??= callOver(this.#incoming)
    return this.#over
  }

  /** Whose answer it is, where the call itself did not say so by its token. */
  ofTenant: string | undefined

  readonly tellTenant = (tenantId: string): void => {
    this.ofTenant = tenantId
  }

  /** Bound, because handlers take it out of the call. */
  readonly header = (name: string): string | undefined => this.#incoming.request.get(name)
}

/** Aborts when the client leaves or the daemon drains. */
function callOver({ response, draining }: Incoming): AbortController {
  const left = new AbortController()
  const forget = whenDraining(draining, () => left.abort('the daemon drains'))
  const leave = () => {
    forget()
    left.abort('the client left')
  }
  response.on('close', leave)
  if (response.closed) leave()
  return left
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
