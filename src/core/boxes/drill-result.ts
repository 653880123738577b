import { z } from 'zod'
import { AgentError } from './command-parts.ts'
import { ProbeResult } from './probe.ts'

/** Media files of a snapshot; of those sampled, all have the size that the database names, and those hashed also the checksum. */
export const DrilledMedia = z.object({
  files: z.number().int().min(0),
  sampled: z.number().int().min(0),
  hashed: z.number().int().min(0),
})
export type DrilledMedia = z.infer<typeof DrilledMedia>

/** A drill never changes the box itself: every finding is a result. */
export const DrillResult = z.object({
  ok: z.boolean(),
  snapshotId: z.string(),
  durationMs: z.number(),
  /** From the start of the load to the first good probe: what a real restore would take. */
  restoreMs: z.number().nullable(),
  tables: z.number().int().nullable(),
  rows: z.number().nullable(),
  /** Null if the drill failed before. */
  media: DrilledMedia.nullable(),
  probe: ProbeResult.nullable(),
  error: AgentError.nullable(),
})
export type DrillResult = z.infer<typeof DrillResult>
