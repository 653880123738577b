import type { Fault } from './port.ts'

/** An answer of a chat server. Its `errcode` decides: a status means different things on different paths. */
export type ChatAnswer = Readonly<{ status: number; json: Readonly<Record<string, unknown>> | undefined; retryAfter?: string | undefined }>

const maxRetrySeconds = 300
const downSeconds = 10
const shutSeconds = 60

export const errcodeOf = ({ json }: ChatAnswer): string => (typeof json?.errcode === 'string' ? json.errcode.slice(0, 60) : '')

/** The server's message for people. Decisions use the errcode. */
export const errorOf = ({ json }: ChatAnswer): string => (typeof json?.error === 'string' ? json.error.slice(0, 200) : '')

/**
 * The fault of an answer; undefined when it answers the request. A 503 with `Retry-After` is the fence of the edge. A rate limit or a server
 * closed for all users is `limited`. Everything that no chat server answers is `unreachable`.
 */
export function faultOf(answer: ChatAnswer): Fault | undefined {
  const { status } = answer
  const errcode = errcodeOf(answer)
  if (status === 429 || errcode === 'M_LIMIT_EXCEEDED') return fault('limited', answer, { defaultSeconds: 1, reason: 'rate limited' })
  if (errcode === 'M_RESOURCE_LIMIT_EXCEEDED')
    return fault('limited', answer, { defaultSeconds: shutSeconds, reason: 'closed for all users' })
  if (status === 503 && retrySecondsOf(answer) !== undefined)
    return fault('fenced', answer, { defaultSeconds: downSeconds, reason: 'update in progress' })
  if (status >= 500) return fault('unreachable', answer, { defaultSeconds: downSeconds, reason: `HTTP ${status}` })
  if (status >= 300 && status < 400)
    return fault('unreachable', answer, { defaultSeconds: shutSeconds, reason: `HTTP ${status}, redirects are not followed` })
  if (errcode === 'M_UNRECOGNIZED' || (status === 404 && errcode === ''))
    return fault('unreachable', answer, {
      defaultSeconds: shutSeconds,
      reason: 'unknown request: the edge has no platform listener, or the server is too old',
    })
  if (answer.json === undefined) return fault('unreachable', answer, { defaultSeconds: downSeconds, reason: `HTTP ${status} without JSON` })
  return undefined
}

/** The fault for an answer that the request does not allow. */
export const unexpected = (answer: ChatAnswer): Fault =>
  fault('unreachable', answer, { defaultSeconds: downSeconds, reason: `unexpected answer ${answer.status} ${errcodeOf(answer)}`.trim() })

type Refusal = Readonly<{ defaultSeconds: number; reason: string }>

function fault(kind: Fault['kind'], answer: ChatAnswer, { defaultSeconds, reason }: Refusal): Fault {
  const seconds = retrySecondsOf(answer) ?? defaultSeconds
  return { kind, retryAfterSeconds: Math.min(Math.max(1, Math.ceil(seconds)), maxRetrySeconds), reason }
}

/** Seconds until the next try that the server asks for in its body or header. */
function retrySecondsOf({ json, retryAfter }: ChatAnswer): number | undefined {
  const ms = json?.retry_after_ms
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return ms / 1000
  return retryAfter !== undefined && /^[0-9]{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined
}

export const isFault = (result: Readonly<{ kind: string }>): result is Fault =>
  result.kind === 'fenced' || result.kind === 'limited' || result.kind === 'unreachable'
