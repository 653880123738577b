import { encodeExtended } from 'content-disposition'

/**
 * `Content-Disposition` (RFC 6266, 8187) with both forms of the name, always quoted. In the first form, for old programs, everything but plain
 * ASCII is an underscore.
 */
export function disposition(kind: 'inline' | 'attachment', fileName: string): string {
  const plain = fileName.replace(/[^\x20-\x7e]|["\\%]/gu, '_')
  return `${kind}; filename="${plain}"; filename*=${encodeExtended(fileName.replace(/\p{Surrogate}/gu, '\ufffd'))}`
}
