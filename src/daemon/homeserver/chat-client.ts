import { createRequire } from 'node:module'
import type { Agent } from 'undici'
import type { ChatAnswer } from '../../core/homeserver/index.ts'

/** One request to a chat server. */
export type ChatRequest = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  body?: unknown
  headers: Readonly<Record<string, string>>
  /** Set for user logins: they share a limited number of connections, and wait for one until the signal aborts. */
  login?: Readonly<{ signal: AbortSignal | undefined }> | undefined
  /** Aborts a read. Writes are always awaited. */
  signal?: AbortSignal | undefined
}>

/** No response in time, or none at all. The message is one line without the address. */
export class NoAnswer extends Error {}

/** The answer is larger than the client takes. */
export class TooLarge extends NoAnswer {}

/** The request was not sent: the queue is full. */
export class QueueFull extends Error {}

export type Ask = (origin: string, request: ChatRequest) => Promise<ChatAnswer>

const connectMs = 5000
type Limits = Readonly<{ timeoutMs: number; maxResponseBytes: number; connections: number }>
/** The size is enough for the state of a room with ten thousand members. */
const ofRequests: Limits = { timeoutMs: 15_000, maxResponseBytes: 8_000_000, connections: 32 }
/** For reads that wait for messages; one after the other per chat server. */
export const ofReaders: Limits = { timeoutMs: 45_000, maxResponseBytes: 1_000_000, connections: 1 }
/** Keeps connections free for the platform's own requests during a flood of logins. */
const maxLogins = 24
const maxQueuedLogins = 48
const maxQueueMs = 10_000

/** Sends requests with a time and a size limit. Redirects are returned, not followed. Connections are kept alive until `close`. */
export function makeChatClient(limits: Limits = ofRequests): { ask: Ask; close(): Promise<void> } {
  let opened: Client | undefined
  const logins = makeSlots({ atOnce: maxLogins, waiting: maxQueuedLogins })
  const askNow: Ask = async (origin, { method, path, body, headers, signal }) => {
    try {
      opened ??= openClient(limits)
      const { request, dispatcher } = opened
      const answer = await request(`${origin}${path}`, {
        method,
        dispatcher,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        body: body === undefined ? null : JSON.stringify(body),
        signal: signal ? AbortSignal.any([signal, AbortSignal.timeout(limits.timeoutMs)]) : AbortSignal.timeout(limits.timeoutMs),
      })
      const retryAfter = answer.headers['retry-after']
      return { status: answer.statusCode, json: asObject(await answer.body.text()), retryAfter: retryAfter?.toString() }
    } catch (error) {
      const Failed = (error as Failure).code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' ? TooLarge : NoAnswer
      throw new Failed(reasonOf(error as Failure, limits), { cause: error })
    }
  }
  const logIn = inSlot(logins, askNow)
  const ask: Ask = (origin, request) => (request.login ? logIn(origin, request) : askNow(origin, request))
  return { ask, close: async () => opened?.dispatcher.close() }
}

/** A sent request is always awaited, even if the caller disconnects: a created device must not be lost. */
const inSlot =
  (places: Slots, ask: Ask) =>
  async (origin: string, request: ChatRequest): Promise<ChatAnswer> => {
    const patience = AbortSignal.timeout(maxQueueMs)
    const { signal } = request.login ?? {}
    const entry = await places.enter(origin, signal ? AbortSignal.any([signal, patience]) : patience)
    if (entry !== 'in') throw new QueueFull('too many queued logins')
    try {
      return await ask(origin, request)
    } finally {
      places.leave(origin)
    }
  }

type Client = Readonly<{ request: typeof import('undici').request; dispatcher: Agent }>

/** Loaded by the first request, to save memory in a daemon without users. `require`, because a failed `import` is cached for ever. */
function openClient({ connections, maxResponseBytes }: Limits): Client {
  const undici: typeof import('undici') = createRequire(import.meta.url)('undici')
  const dispatcher = new undici.Agent({
    connect: { timeout: connectMs },
    connections,
    keepAliveTimeout: 10_000,
    maxResponseSize: maxResponseBytes,
  })
  return { request: undici.request, dispatcher }
}

type Failure = Error & Readonly<{ code?: string }>

/** The reason is read by users too. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server accepts connections at its address',
  ECONNRESET: 'the connection was closed without an answer',
  UND_ERR_SOCKET: 'the connection was closed without an answer',
  UND_ERR_CONNECT_TIMEOUT: 'its host does not answer',
  ETIMEDOUT: 'its host does not answer',
  EHOSTUNREACH: 'its host does not answer',
  ENETUNREACH: 'no network leads to its host',
  ENOTFOUND: 'the name of its host has no address',
  EAI_AGAIN: 'the name service does not answer',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'its answer is too large',
}

const reasonOf = ({ name, code }: Failure, { timeoutMs }: Limits): string =>
  name === 'TimeoutError' ? `no answer in ${timeoutMs / 1000} s` : (reasons[code ?? ''] ?? code ?? name)

function asObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** `in`: has a slot. `full`: the queue is full. `left`: the caller aborted. */
type Entry = 'in' | 'left' | 'full'

/** Slots to each chat server. A caller that is `in` must call `leave`. */
export type Slots = Readonly<{ enter(origin: string, signal: AbortSignal): Promise<Entry>; leave(origin: string): void }>

type Queue = { busy: number; readonly waiting: Set<(entry: Entry) => void> }

/** `atOnce` callers are in; at most `waiting` queue in order of arrival. A caller that aborts frees its place at once. */
export function makeSlots({ atOnce, waiting: maxWaiting }: Readonly<{ atOnce: number; waiting: number }>): Slots {
  const sides = new Map<string, Queue>()
  const sideOf = (origin: string): Queue => {
    const side = sides.get(origin) ?? { busy: 0, waiting: new Set() }
    sides.set(origin, side)
    return side
  }

  const waitForSlot = ({ waiting }: Queue, signal: AbortSignal) =>
    new Promise<Entry>((resolve) => {
      const end = (entry: Entry) => {
        waiting.delete(end)
        signal.removeEventListener('abort', left)
        resolve(entry)
      }
      const left = () => end('left')
      signal.addEventListener('abort', left)
      waiting.add(end)
    })

  return {
    enter: async (origin, signal) => {
      if (signal.aborted) return 'left'
      const side = sideOf(origin)
      if (side.busy < atOnce) {
        side.busy += 1
        return 'in'
      }
      return side.waiting.size >= maxWaiting ? 'full' : waitForSlot(side, signal)
    },
    leave: (origin) => {
      const side = sideOf(origin)
      const [next] = side.waiting
      if (next) return next('in') // the place goes from hand to hand
      side.busy -= 1
      if (side.busy === 0) sides.delete(origin)
    },
  }
}
