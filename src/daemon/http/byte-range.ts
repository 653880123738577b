import { problem } from '../../core/kit/index.ts'

/** First and last byte, both included. */
export type ByteRange = Readonly<{ from: number; to: number }>

/**
 * The part that a `Range` header asks for; undefined: the whole, which is also the answer to several parts at once and to what cannot be
 * read (RFC 9110, 14.2). Throws RANGE_NOT_SATISFIABLE.
 */
export function byteRange(header: string | undefined, bytes: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return undefined
  const from = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const to = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (first !== '' && last !== '' && Number(last) < from) return undefined
  if (from >= bytes) throw problem('RANGE_NOT_SATISFIABLE', `the file has ${bytes} bytes: ask for a part of them`)
  return { from, to }
}
