import { createRequire } from 'node:module'
import type { Agent } from 'undici'
import type { ChatAnswer } from '../../core/homeserver/index.ts'
import { type Places, placesOf } from './places.ts'

/** One request to a chat server. */
export type Question = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  body?: unknown
  headers: Readonly<Record<string, string>>
  /** For a person who logs in: it has its share of the connections, and waits for one until the signal aborts. */
  login?: Readonly<{ signal: AbortSignal | undefined }> | undefined
}>

/** No answer in time, or none at all; the message is one line without the address. */
export class NoAnswer extends Error {}

/** It was not asked: too many wait for it already. */
export class TooMany extends Error {}

export type Ask = (origin: string, question: Question) => Promise<ChatAnswer>

const longestMs = 15_000
const connectMs = 5000
/** The state of a room with ten thousand members. */
const largestBytes = 8_000_000
const connections = 32
/** A flood of logins leaves the rest to what the platform itself has to do there: locks, rooms, names. */
const loginsAtOnce = 24
const loginsWaiting = 48
const longestWaitMs = 10_000

/** Asks with a time limit and a size limit; redirects are answers. Connections are kept for the next question, and closed with `close`. */
export function makeAsk(): { ask: Ask; close(): Promise<void> } {
  let opened: Client | undefined
  const logins = placesOf({ atOnce: loginsAtOnce, waiting: loginsWaiting })
  const askNow: Ask = async (origin, { method, path, body, headers }) => {
    try {
      opened ??= openClient()
      const { request, dispatcher } = opened
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
  const ask: Ask = (origin, question) => (question.login ? inTurn(logins, origin, question, askNow) : askNow(origin, question))
  return { ask, close: async () => opened?.dispatcher.close() }
}

/** Once it is asked it is waited for, whoever left: a device that was made must not be lost. */
async function inTurn(places: Places, origin: string, question: Question, ask: Ask): Promise<ChatAnswer> {
  const patience = AbortSignal.timeout(longestWaitMs)
  const { signal } = question.login ?? {}
  const entry = await places.enter(origin, signal ? AbortSignal.any([signal, patience]) : patience)
  if (entry !== 'in') throw new TooMany('too many logins wait for it')
  try {
    return await ask(origin, question)
  } finally {
    places.leave(origin)
  }
}

type Client = Readonly<{ request: typeof import('undici').request; dispatcher: Agent }>

/** Loaded by the first question: a daemon whose boxes have no users yet does without. By `require`: an `import` that failed once fails for good. */
function openClient(): Client {
  const undici: typeof import('undici') = createRequire(import.meta.url)('undici')
  const dispatcher = new undici.Agent({
    connect: { timeout: connectMs },
    connections,
    keepAliveTimeout: 10_000,
    maxResponseSize: largestBytes,
  })
  return { request: undici.request, dispatcher }
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
