import type { Fault } from './port.ts'

/** What came back: the server's own code decides, because statuses mean different things on different paths. */
export type ChatAnswer = Readonly<{ status: number; json: Readonly<Record<string, unknown>> | undefined; retryAfter?: string | undefined }>

const longestWaitSeconds = 300
const downSeconds = 10
const shutSeconds = 60

export const errcodeOf = ({ json }: ChatAnswer): string => (typeof json?.errcode === 'string' ? json.errcode.slice(0, 60) : '')

/** What the server says in words, for a person and never for a decision. */
export const errorOf = ({ json }: ChatAnswer): string => (typeof json?.error === 'string' ? json.error.slice(0, 200) : '')

/**
 * The fault an answer tells of; undefined when it answers the question. The edge's own 503 is the fence; a server that wants fewer requests, or
 * is shut for everybody, is `limited`; whatever else is no answer of a chat server counts as if there were none.
 */
export function faultOf(answer: ChatAnswer): Fault | undefined {
  const { status } = answer
  const errcode = errcodeOf(answer)
  if (status === 429 || errcode === 'M_LIMIT_EXCEEDED') return fault('limited', answer, 1, 'it wants fewer requests')
  if (errcode === 'M_RESOURCE_LIMIT_EXCEEDED') return fault('limited', answer, shutSeconds, 'it serves nobody at present')
  if (status === 503 && waitOf(answer) !== undefined) return fault('fenced', answer, downSeconds, 'it is being updated')
  if (status >= 500) return fault('unreachable', answer, downSeconds, `it answered ${status}`)
  if (status >= 300 && status < 400) return fault('unreachable', answer, shutSeconds, `it answered ${status}, and no redirect is followed`)
  if (errcode === 'M_UNRECOGNIZED' || (status === 404 && errcode === ''))
    return fault('unreachable', answer, shutSeconds, 'its edge does not know the platform, or the server does not know the request')
  if (answer.json === undefined) return fault('unreachable', answer, downSeconds, `it answered ${status} without JSON`)
  return undefined
}

/** An answer that fits none of the cases of its question. */
export const unexpected = (answer: ChatAnswer): Fault =>
  fault('unreachable', answer, downSeconds, `it answered ${answer.status} ${errcodeOf(answer)}`.trim())

function fault(kind: Fault['kind'], answer: ChatAnswer, otherwise: number, reason: string): Fault {
  const wait = waitOf(answer) ?? otherwise
  return { kind, retryAfterSeconds: Math.min(Math.max(1, Math.ceil(wait)), longestWaitSeconds), reason }
}

/** Seconds that the server asks for, as it says it in its body or its header. */
function waitOf({ json, retryAfter }: ChatAnswer): number | undefined {
  const ms = json?.retry_after_ms
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return ms / 1000
  return retryAfter !== undefined && /^[0-9]{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined
}

export const isFault = (result: Readonly<{ kind: string }>): result is Fault =>
  result.kind === 'fenced' || result.kind === 'limited' || result.kind === 'unreachable'
