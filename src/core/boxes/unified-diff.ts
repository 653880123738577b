import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff'

/** Texts that differ in more lines are shown as fully replaced: the CPU time of a comparison grows by the square of this number. */
const maxEditLength = 1000

/** The difference of two texts in the format of `diff -u`; empty for equal texts. Null is a missing file. */
export function unifiedDiff(path: string, before: string | null, after: string | null): string {
  if (before === after) return ''
  const oldFileName = before === null ? '/dev/null' : `a/${path}`
  const newFileName = after === null ? '/dev/null' : `b/${path}`
  const hunks = compare(before ?? '', after ?? '')
  return formatPatch({ oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks }, FILE_HEADERS_ONLY)
}

const compare = (before: string, after: string): StructuredPatchHunk[] =>
  structuredPatch('', '', before, after, '', '', { context: 3, maxEditLength })?.hunks ?? [replaced(before, after)]

function replaced(before: string, after: string): StructuredPatchHunk {
  const [removal] = structuredPatch('', '', before, '').hunks
  const [addition] = structuredPatch('', '', '', after).hunks
  const lines = [...(removal?.lines ?? []), ...(addition?.lines ?? [])]
  return { oldStart: 1, oldLines: removal?.oldLines ?? 0, newStart: 1, newLines: addition?.newLines ?? 0, lines }
}
