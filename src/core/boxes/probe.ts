import { z } from 'zod'

/** The four components of a probe (spec 4.10). */
export const ProbeComponent = z.enum(['chatApi', 'chatSync', 'database', 'objectStorage'])
export type ProbeComponent = z.infer<typeof ProbeComponent>

const ComponentResult = z.object({ ok: z.boolean(), ms: z.number(), error: z.string().optional() })

/**
 * One probe. `recovering` (the database replays its log) and `upgrading` (the chat server migrates its schema) take time and must not be
 * interrupted (SAFETY, The probe).
 */
export const ProbeResult = z.object({
  at: z.string(),
  verdict: z.enum(['ok', 'recovering', 'upgrading', 'failed']),
  components: z.record(ProbeComponent, ComponentResult),
  /** The reason for any verdict but `ok`, in one line. */
  reason: z.string().optional(),
})
export type ProbeResult = z.infer<typeof ProbeResult>

/**
 * When a box counts as stable (spec 8): `consecutive` good probes that begin `spacingMs` apart, within `timeoutMs`. The optional
 * fields have defaults.
 */
export const ProbeRule = z.object({
  consecutive: z.number().int().min(1).max(20),
  spacingMs: z.number().int().min(1),
  timeoutMs: z.number().int().min(1),
  /** From begin to begin of the probes that end a fence. */
  quickSpacingMs: z.number().int().min(1).optional(),
  /** A server that fails in the same way for this long will not recover. */
  steadyFailureMs: z.number().int().min(1).optional(),
})
export type ProbeRule = z.infer<typeof ProbeRule>

/** The probes that end a fence: as many, but in quick succession. */
export const quickRule = (rule: ProbeRule): ProbeRule => ({ ...rule, spacingMs: Math.min(rule.quickSpacingMs ?? 300, rule.spacingMs) })

export const steadyFailureMsOf = ({ steadyFailureMs = 120_000 }: ProbeRule): number => steadyFailureMs
