import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

/** A gate of the manifest: a query of Prometheus whose value must stay within limits before the next phase begins. */
export const Gate = z.object({
  name: z.string(),
  query: z.string(),
  atMost: z.number().nullable(),
  atLeast: z.number().nullable(),
  /** How long; 0: one answer is enough. */
  forMs: z.number().int(),
  /** Where Prometheus has no answer, the rollout pauses or continues. */
  onNoAnswer: z.enum(['pause', 'continue']),
})
export type Gate = z.infer<typeof Gate>

/**
 * Why a question has no value. `REFUSED`: Prometheus refused the query or the caller. `EMPTY`, `SEVERAL`: no series, or more than one.
 * `NOT_A_NUMBER`: the answer is text, a range, or NaN.
 */
const NoAnswer = z.object({
  code: z.enum(['NOT_CONFIGURED', 'UNREACHABLE', 'REFUSED', 'EMPTY', 'SEVERAL', 'NOT_A_NUMBER']),
  message: z.string(),
})
export type NoAnswer = z.infer<typeof NoAnswer>

/** A gate and what Prometheus said in this phase. */
export const GateState = Gate.extend({
  state: z.enum(['waiting', 'holding', 'passed', 'failed', 'unanswered']),
  /** The first question whose value was within the limits. */
  since: Timestamp.nullable(),
  /** The last question. */
  at: Timestamp.nullable(),
  /** Its value as Prometheus writes it, such as `0.02` or `+Inf`. */
  value: z.string().nullable(),
  noAnswer: NoAnswer.nullable(),
  /** Questions without an answer, one after the other. */
  missed: z.number().int(),
})
export type GateState = z.infer<typeof GateState>
