import { type ProblemCode, plural } from '../kit/index.ts'
import type { DrilledMedia, DrillResult } from './drill-result.ts'

/** A comparison with nothing proves nothing, whatever the agent calls it. */
export function provenDrill(drill: DrillResult): DrillResult {
  const { ok, tables, rows, media } = drill
  const failed = (code: ProblemCode, message: string): DrillResult => ({ ...drill, ok: false, error: { code, message } })
  if (ok && (tables === 0 || rows === 0)) return failed('RESTORE_FAILED', 'the database in the snapshot is empty, so nothing was compared')
  if (ok && media && media.files > 0 && media.sampled === 0)
    return failed('MEDIA_UNPROVEN', `the snapshot has ${plural(media.files, 'media file')}, and the agent compared none`)
  return drill
}

/** The result about media as one phrase. Undefined if the drill failed before. */
export function drilledMediaText(media: DrilledMedia | null): string | undefined {
  if (media === null) return undefined
  if (media.files === 0) return 'no media in the snapshot'
  return `${media.sampled} of ${plural(media.files, 'media file')} compared, ${media.hashed} by checksum`
}
