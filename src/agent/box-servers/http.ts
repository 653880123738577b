import { createRequire } from 'node:module'
import type { Agent } from 'undici'
import { asJson } from '../../core/kit/index.ts'

/** A server of a box, as it is reached from the host. */
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
 * Loaded by the first question: it takes some megabytes, and an agent without boxes asks nobody. By `require`, which tries again: an `import` that
 * failed once, for want of a file handle, fails for as long as the agent runs, and all its boxes would be sick.
 */
function openClient(): Client {
  const undici: typeof import('undici') = createRequire(import.meta.url)('undici')
  // Nobody in a box may keep the agent busy or fill its memory; and a new container has a new address, so no connection is kept.
  const dispatcher = new undici.Agent({ maxResponseSize: 4_000_000, pipelining: 0, connect: { timeout: timeoutMs } })
  return { fetch: undici.fetch, dispatcher }
}

/** One request with a time limit that follows no redirect. Throws an Error with one line when there is no answer. */
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

/** The JSON of a 200; throws an Error that names path, status and the server's own code otherwise. */
export async function need(origin: Origin, path: string, question?: Question): Promise<Record<string, unknown>> {
  const { status, json } = await ask(origin, path, question)
  const answer = json !== null && typeof json === 'object' ? (json as Record<string, unknown>) : {}
  if (status === 200) return answer
  const errcode = typeof answer.errcode === 'string' ? ` ${answer.errcode.slice(0, 60)}` : ''
  throw new Error(`${placeOf(path)} answered ${status}${errcode}`)
}

/** The path as a person reads it: ids of rooms and transactions only push the reason out of sight. */
const placeOf = (path: string): string => (path.split('?')[0] ?? '').replaceAll(/\/(?:[^/]*%[^/]*|[a-z0-9]{16,})(?=\/|$)/g, '/…')

function reasonOf(error: unknown): string {
  const { cause, message, name } = error as Error & { cause?: { code?: string } }
  if (name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`
  return cause?.code ?? message
}
