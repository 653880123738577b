import { z } from 'zod'
import { type ProblemCode, plural } from '../kit/index.ts'
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
  /** Null if the drill failed before; absent from older agents, which compare no media. */
  media: DrilledMedia.nullable().optional(),
  probe: ProbeResult.nullable(),
  error: AgentError.nullable(),
})
export type DrillResult = z.infer<typeof DrillResult>

/** Older agents call a drill of an empty database a success: a comparison with nothing proves nothing. */
export function provenDrill(drill: DrillResult): DrillResult {
  const { ok, tables, rows, media } = drill
  const failed = (code: ProblemCode, message: string): DrillResult => ({ ...drill, ok: false, error: { code, message } })
  if (ok && (tables === 0 || rows === 0)) return failed('RESTORE_FAILED', 'the database in the snapshot is empty, so nothing was compared')
  if (ok && media && media.files > 0 && media.sampled === 0)
    return failed('MEDIA_UNPROVEN', `the snapshot has ${plural(media.files, 'media file')}, and the agent compared none`)
  return drill
}

/** The result about media as one phrase. Undefined if the drill failed before. */
export function drilledMediaText(media: DrilledMedia | null | undefined): string | undefined {
  if (media === null) return undefined
  if (media === undefined) return 'media not compared (update the agent)'
  if (media.files === 0) return 'no media in the snapshot'
  return `${media.sampled} of ${plural(media.files, 'media file')} compared, ${media.hashed} by checksum`
}
