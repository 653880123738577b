import { isProblemCode, Problem, type ProblemBody, problem } from '../kit/index.ts'
import { type CallOf, type Contract, type EndpointShape, isSchema, type ResultOf, type StreamMessage } from './endpoint.ts'
import { readEventStream } from './event-stream.ts'

type CallOptions = Readonly<{ signal?: AbortSignal; lastEventId?: string; headers?: Record<string, string> }>

/** The typed client: one function per endpoint, named as in the contract. Problems come back as `Problem`. */
export type Client<C extends Contract> = {
  readonly [Name in keyof C]: (
    ...call: Record<string, never> extends CallOf<C[Name]>
      ? [call?: CallOf<C[Name]>, options?: CallOptions]
      : [call: CallOf<C[Name]>, options?: CallOptions]
  ) => Promise<ResultOf<C[Name]>>
}

type ClientDeps = Readonly<{
  baseUrl: string
  /** Headers, computed per call because tokens expire. */
  headers?: () => Record<string, string> | Promise<Record<string, string>>
  fetch?: typeof globalThis.fetch
}>

type LooseUpload = { content: Blob; fileName: string; fields?: Record<string, unknown> }
type LooseCall = { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown; upload?: LooseUpload }

/** Makes the client of a contract. Connection failures become `UNREACHABLE`. */
export function makeClient<C extends Contract>(contract: C, deps: ClientDeps): Client<C> {
  const functions = Object.entries(contract).map(([name, endpoint]) => [
    name,
    (call: LooseCall = {}, options: CallOptions = {}) => invoke(deps, endpoint, { call, options }),
  ])
  return Object.fromEntries(functions) as Client<C>
}

async function invoke(
  deps: ClientDeps,
  endpoint: EndpointShape,
  { call, options }: Readonly<{ call: LooseCall; options: CallOptions }>,
): Promise<unknown> {
  const response = await send(deps, endpoint, { call, options })
  if (!response.ok) throw await problemOf(deps.baseUrl, response)
  const { returns } = endpoint
  // Answers are not parsed again: an older client must live with fields that a newer daemon adds.
  if (isSchema(returns)) return response.json().catch((error: unknown) => notOurs(deps.baseUrl, response, error))
  if (returns.kind === 'text' || returns.kind === 'raw') return response.text()
  if (returns.kind === 'file') return response.body ?? new Blob([]).stream()
  if (returns.kind === 'sse') return readEventStream(response.body as ReadableStream<Uint8Array>) as AsyncIterable<StreamMessage<unknown>>
  await response.body?.cancel()
  return undefined
}

/** A response that is not JSON comes from a proxy or login wall. */
function notOurs(baseUrl: string, { status }: Response, error: unknown): never {
  if (!(error instanceof SyntaxError)) throw error
  throw problem('UNREACHABLE', `${baseUrl} answered ${status} without a result: is it the daemon's address?`, { cause: error })
}

async function send(
  deps: ClientDeps,
  endpoint: EndpointShape,
  { call, options }: Readonly<{ call: LooseCall; options: CallOptions }>,
): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json', ...(await deps.headers?.()), ...options.headers }
  if (call.body !== undefined) headers['content-type'] = 'application/json'
  if (options.lastEventId) headers['last-event-id'] = options.lastEventId
  const request = {
    method: endpoint.method,
    headers,
    ...bodyOf(endpoint, call),
    ...(options.signal ? { signal: options.signal } : {}),
    // A redirect would take the body, such as a password, to another server.
    redirect: 'manual',
  } as const
  try {
    const response = await (deps.fetch ?? globalThis.fetch)(urlOf(deps.baseUrl, endpoint, call), request)
    if (response.type === 'opaqueredirect' || redirects.has(response.status)) throw redirected(deps.baseUrl, response)
    return response
  } catch (error) {
    if (options.signal?.aborted || error instanceof Problem) throw error
    throw problem(
      'UNREACHABLE',
      `${deps.baseUrl} does not answer (${reasonOf(error as Error)}): is the daemon running, and is this its address?`,
      {
        cause: error,
      },
    )
  }
}

const redirects = new Set([301, 302, 303, 307, 308])

function redirected(baseUrl: string, { headers }: Response): Problem {
  const to = headers.get('location')
  return problem(
    'UNREACHABLE',
    `${baseUrl} redirects${to ? ` to ${to}` : ''}, and redirects are not followed. fix: use the address of the daemon itself`,
  )
}

/** Prefers the error code, such as `ERR_SSL_WRONG_VERSION_NUMBER`, to OpenSSL's long message. */
function reasonOf({ message, cause }: Error): string {
  const { message: inner, code } = (cause ?? {}) as { message?: string; code?: string }
  return code?.startsWith('ERR_SSL_') ? `TLS handshake failed with ${code}; the server may speak plain HTTP` : inner || message
}

function bodyOf({ multipart }: EndpointShape, { body, upload }: LooseCall): { body?: string | FormData } {
  if (!multipart || !upload) return body === undefined ? {} : { body: JSON.stringify(body) }
  const form = new FormData()
  for (const [name, value] of Object.entries(upload.fields ?? {})) if (value !== undefined) form.set(name, String(value))
  form.set(multipart.part, upload.content, upload.fileName)
  return { body: form }
}

function urlOf(baseUrl: string, { path }: EndpointShape, { params = {}, query = {} }: LooseCall): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) search.append(key, String(one))
  }
  return `${baseUrl.replace(/\/$/, '')}${filled}${search.size > 0 ? `?${search}` : ''}`
}

/** The problem of an error response, or its text if it is not in the error shape. */
async function problemOf(baseUrl: string, response: Response): Promise<Problem> {
  const body = (await response.json().catch(() => undefined)) as ProblemBody | undefined
  const retryAfter = Number(response.headers.get('retry-after'))
  const extras = {
    ...(body?.details ? { details: body.details } : {}),
    ...(body?.violations ? { violations: body.violations } : {}),
    ...(body?.added ? { permissions: { added: body.added, removed: body.removed ?? [] } } : {}),
    ...(typeof body?.retryable === 'boolean' ? { retryable: body.retryable } : {}),
    ...(retryAfter > 0 ? { retryAfterSeconds: retryAfter } : {}),
  }
  if (body?.code && isProblemCode(body.code)) return problem(body.code, body.message, extras)
  const message = body?.message ?? `${baseUrl} answered ${response.status} without an explanation: is it the daemon's address?`
  return problem(response.status >= 500 ? 'UNAVAILABLE' : 'INTERNAL', message, extras)
}
