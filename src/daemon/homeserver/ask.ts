import { Agent, request } from 'undici'
import type { ChatAnswer } from '../../core/homeserver/index.ts'

/** One request to a chat server. */
export type Question = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  body?: unknown
  headers: Readonly<Record<string, string>>
}>

/** No answer in time, or none at all; the message is one line without the address. */
export class NoAnswer extends Error {}

export type Ask = (origin: string, question: Question) => Promise<ChatAnswer>

const longestMs = 15_000
const connectMs = 5000
const largestBytes = 4_000_000

/** Asks with a time limit and a size limit; redirects are answers. Connections are kept for the next question, and closed with `close`. */
export function makeAsk(): { ask: Ask; close(): Promise<void> } {
  const dispatcher = new Agent({
    connect: { timeout: connectMs },
    connections: 32,
    keepAliveTimeout: 10_000,
    maxResponseSize: largestBytes,
  })
  const ask: Ask = async (origin, { method, path, body, headers }) => {
    try {
      const answer = await request(`${origin}${path}`, {
        method,
        dispatcher,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(longestMs),
      })
      const retryAfter = answer.headers['retry-after']
      return { status: answer.statusCode, json: asObject(await answer.body.text()), retryAfter: retryAfter?.toString() }
    } catch (error) {
      throw new NoAnswer(reasonOf(error as Failure), { cause: error })
    }
  }
  return { ask, close: () => dispatcher.close() }
}

type Failure = Error & Readonly<{ code?: string }>

const reasonOf = ({ name, code }: Failure): string => (name === 'TimeoutError' ? `no answer in ${longestMs / 1000} s` : (code ?? name))

function asObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
