import { type ProblemCode, plural } from '../kit/index.ts'
import type { DrilledMedia, DrillResult } from './drill-result.ts'

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
