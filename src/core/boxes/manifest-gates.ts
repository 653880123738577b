import { z } from 'zod'
import { periodMs, printable } from '../kit/index.ts'

const GateName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be a name of at most 40 lower-case letters, digits and dashes, beginning with a letter')

const maxForMs = 24 * 60 * 60_000

const GateFor = z
  .string()
  .refine((text) => (periodMs(text) ?? maxForMs + 1) <= maxForMs, 'must be a duration such as 90s, 10m or 2h, at most 24h')

/** A query of Prometheus between the phases of a rollout, and the limits of its value. */
const ManifestGate = z
  .strictObject({
    /** PromQL with one value as its answer. */
    query: z
      .string()
      .trim()
      .min(1)
      .max(1000)
      .refine((text) => printable(text.replace(/\s/g, ' ')) === text.replace(/\s/g, ' '), 'must not hold control characters'),
    atMost: z.number().optional(),
    atLeast: z.number().optional(),
    /** How long the value must stay within its limits; without it one answer is enough. */
    for: GateFor.optional(),
    /** Whether the rollout pauses, which is the default, or continues where Prometheus has no answer. */
    onNoAnswer: z.enum(['pause', 'continue']).optional(),
  })
  .refine(({ atMost, atLeast }) => atMost !== undefined || atLeast !== undefined, {
    path: ['atMost'],
    message: 'must be set, or atLeast',
  })
  .refine(({ atMost = Infinity, atLeast = -Infinity }) => atLeast <= atMost, { path: ['atLeast'], message: 'must not be above atMost' })

const maxGates = 10

/** By name. */
export const ManifestGates = z
  .record(GateName, ManifestGate)
  .refine((gates) => Object.keys(gates).length <= maxGates, `must have at most ${maxGates} gates`)
export type ManifestGates = z.infer<typeof ManifestGates>
