import { createRequire } from 'node:module'
import type { Agent } from 'undici'
import { asJson } from '../../core/kit/index.ts'

/** Address of a box's server, reachable from the host. */
export type Origin = Readonly<{ url: string; headers?: Readonly<Record<string, string>> }>
export type Answer = Readonly<{ status: number; text: string; json: unknown }>
type Question = Readonly<{
  method?: 'GET' | 'POST' | 'PUT'
  body?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal | undefined
}>

const timeoutMs = 10_000

type Client = Readonly<{ fetch: typeof import('undici').fetch; dispatcher: Agent }>
let opened: Client | undefined

/**
 * Loads undici on first use, because it takes some megabytes. Uses `require`, because a failed `import` (no free file handle) would fail until
 * the agent restarts.
 */
function openClient(): Client {
  const undici: typeof import('undici') = createRequire(import.meta.url)('undici')
  // A box must not block the agent or fill its memory. No keep-alive, because a new container has a new address.
  const dispatcher = new undici.Agent({ maxResponseSize: 4_000_000, pipelining: 0, connect: { timeout: timeoutMs } })
  return { fetch: undici.fetch, dispatcher }
}

/** Sends one request with a timeout and without redirects. Throws an Error with one line when there is no response. */
export async function ask(
  { url, headers }: Origin,
  path: string,
  { method = 'GET', body, headers: more, signal }: Question = {},
): Promise<Answer> {
  opened ??= openClient()
  const { fetch, dispatcher } = opened
  const limit = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...more, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      redirect: 'manual',
      dispatcher,
    })
    const text = await response.text()
    return { status: response.status, text, json: asJson(text) }
  } catch (error) {
    signal?.throwIfAborted()
    throw new Error(`${placeOf(path)}: ${reasonOf(error)}`, { cause: error })
  }
}

/** Returns the JSON of a 200; otherwise throws an Error with path, status and the server's error code. */
export async function need(origin: Origin, path: string, question?: Question): Promise<Record<string, unknown>> {
  const { status, json } = await ask(origin, path, question)
  const answer = json !== null && typeof json === 'object' ? (json as Record<string, unknown>) : {}
  if (status === 200) return answer
  const errcode = typeof answer.errcode === 'string' ? ` ${answer.errcode.slice(0, 60)}` : ''
  throw new Error(`${placeOf(path)} answered ${status}${errcode}`)
}

/** The path for messages, without ids of rooms and transactions. */
const placeOf = (path: string): string => (path.split('?')[0] ?? '').replaceAll(/\/(?:[^/]*%[^/]*|[a-z0-9]{16,})(?=\/|$)/g, '/…')

function reasonOf(error: unknown): string {
  const { cause, message, name } = error as Error & { cause?: { code?: string } }
  if (name === 'TimeoutError') return `no response within ${timeoutMs / 1000} s`
  return cause?.code ?? message
}
