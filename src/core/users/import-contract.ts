import { z } from 'zod'
import { Localpart } from './localpart.ts'
import { NewPassword } from './user.ts'

/** The most that one file may hold (SECURITY, Inputs). */
export const importLimits = { bytes: 5_000_000, lines: 10_000 } as const

const bytes = (text: string) => new TextEncoder().encode(text).length

export const ImportBody = z.strictObject({
  csv: z
    .string()
    .max(importLimits.bytes, 'must be at most 5 MB')
    .refine((text) => bytes(text) <= importLimits.bytes, 'must be at most 5 MB'),
  dryRun: z.boolean(),
  /** Where to go on: `nextLine` of the call before. */
  fromLine: z.int().min(1).max(2_000_000).default(1),
  /** By name; who has none gets one that is made and shown once. */
  passwords: z.record(Localpart, NewPassword).optional(),
})

/**
 * `would_create` only in a dry run; `existed` was in the registry and is unchanged; `adopted` was in the chat server only, with its own password;
 * `refused` says why in `reason`.
 */
export const ImportOutcome = z.enum(['created', 'would_create', 'adopted', 'existed', 'refused'])
export type ImportOutcome = z.infer<typeof ImportOutcome>

export const ImportLine = z.object({
  line: z.int().meta({ description: 'Of the file; the head is line 1' }),
  localpart: z.string(),
  outcome: ImportOutcome,
  reason: z.string().nullable(),
})
export type ImportLine = z.infer<typeof ImportLine>

export const ImportReport = z.object({
  dryRun: z.boolean(),
  lines: z.array(ImportLine),
  counts: z.record(ImportOutcome, z.int()),
  /** Those that were made here and not given; shown only now. */
  passwords: z.record(z.string(), z.string()),
  /** Not all was done: ask again from here. */
  nextLine: z.int().nullable(),
  /** Why it stopped before its time; null when only its time was up. */
  stopped: z.string().nullable(),
})
export type ImportReport = z.infer<typeof ImportReport>

export const countOutcomes = (lines: readonly ImportLine[]): ImportReport['counts'] => {
  const counts = Object.fromEntries(ImportOutcome.options.map((outcome) => [outcome, 0])) as ImportReport['counts']
  for (const { outcome } of lines) counts[outcome]++
  return counts
}
