import { isTooDeep, maxJsonLevels } from '../../core/kit/index.ts'
import type { RunResult } from '../../core/modules/index.ts'
import type { Job } from './task.ts'

/** Bytes of an answer beside its body. */
const maxHeadBytes = 65_536

type Answer = Pick<Extract<RunResult, { outcome: 'done' }>, 'value' | 'body'>
type Read = Readonly<{ answer: Answer }> | Readonly<{ fault: string }> | Readonly<{ tooLarge: string }>

/**
 * Reads the JSON that a job returned, in the thread of the run: to take over a hundred thousand small values costs the thread of the host a tenth of
 * a second, and a text nothing. Other jobs than requests and descriptions return nothing.
 */
export function readAnswer(text: string, { type }: Job): Read {
  if (type !== 'request' && type !== 'describe') return { answer: { value: null } }
  const value: unknown = JSON.parse(text)
  if (isTooDeep(value)) return { fault: `the answer is nested deeper than ${maxJsonLevels} levels` }
  const answer = type === 'request' ? withTextBody(value) : { value }
  return Buffer.byteLength(JSON.stringify(answer.value)) > maxHeadBytes
    ? { tooLarge: `the answer without its body has more than ${maxHeadBytes} bytes` }
    : { answer }
}

function withTextBody(value: unknown): Answer {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, 'body')) return { value }
  const { body, ...head } = value as Readonly<Record<string, unknown>>
  return { value: head, body: JSON.stringify(body) }
}
