import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { encodeExtended } from 'content-disposition'
import type { Request, Response } from 'express'
import { isProblem, problem } from '../../core/kit/index.ts'
import { matchesEtag } from './tagged.ts'

/** A file response. `open` is called at most once, when bytes are sent. */
export type FileBody = Readonly<{
  fileName: string
  contentType: string
  /** True if a browser may display the file; otherwise it is downloaded. */
  inline: boolean
  bytes: number
  /** A strong tag: the same tag means the same bytes. */
  etag: string
  /** Set for a public file: everyone may see it, and keep it for so long without asking again. */
  cacheSeconds?: number
  open(range?: ByteRange): Promise<AsyncIterable<Uint8Array>>
  /** Returns a check that rejects once the caller may not read the file any more. The signal aborts at the end of the download. */
  accessCheck?(over: AbortSignal): () => Promise<unknown>
}>

/** An uploaded file must never run as a page of this origin. */
const isolationHeaders = { 'content-security-policy': "default-src 'none'; sandbox", 'x-content-type-options': 'nosniff' }

/** `sent`: the bytes that the client has taken, and what buffers hold. */
type Download = Readonly<{ signal: AbortSignal; end: () => void; sent: () => number }>

/** Ends a download when its caller loses access, or does not read. */
type RevalidateUntilEnd = (download: Download) => Promise<void>

/**
 * Streams a file or the requested range; 304 if the client has it. `standing` ends the download early. Throws RANGE_NOT_SATISFIABLE, and an
 * error if the store sends another number of bytes: the client would wait for the rest for ever.
 */
export async function sendFile(
  { request, response }: Readonly<{ request: Request; response: Response }>,
  file: FileBody,
  standing: RevalidateUntilEnd,
): Promise<void> {
  response.set({ ...isolationHeaders, ...sharing(file), etag: file.etag, 'accept-ranges': 'bytes' }).vary('Authorization')
  if (matchesEtag(request.headers['if-none-match'], file.etag)) return void response.status(304).end()
  const range = rangeOf(request, response, file)
  const bytes = range ? range.to - range.from + 1 : file.bytes
  response.status(range ? 206 : 200).set({
    'content-type': file.contentType,
    'content-disposition': disposition(file.inline ? 'inline' : 'attachment', file.fileName),
    'content-length': String(bytes),
    ...(range ? { 'content-range': `bytes ${range.from}-${range.to}/${file.bytes}` } : {}),
  })
  if (request.method === 'HEAD') return void response.end()
  const content = await opened(response, file, range)
  const over = new AbortController()
  const passing = exactly(bytes)
  void standing({ signal: over.signal, end: () => response.destroy(), sent: passing.sent })
  await streamTo(response, content, passing.pass).finally(() => over.abort())
}

/** A public file may be an image in pages of other origins, such as apps of the tenant. */
const sharing = ({ cacheSeconds }: FileBody): Record<string, string> =>
  cacheSeconds === undefined
    ? { 'cache-control': 'private, no-cache' }
    : { 'cache-control': `public, max-age=${cacheSeconds}`, 'cross-origin-resource-policy': 'cross-origin' }

/** Passes exactly this number of bytes on. Fails before more, and at the end of less. */
function exactly(bytes: number) {
  let sent = 0
  const pass = new Transform({
    transform(chunk: Uint8Array, _, done) {
      sent += chunk.length
      if (sent > bytes) done(new Error(`the stored object is longer than the ${bytes} bytes of its file`))
      else done(null, chunk)
    },
    flush: (done) => done(sent < bytes ? new Error(`the stored object ended after ${sent} of ${bytes} bytes`) : null),
  })
  return { pass, sent: () => sent }
}

const minPaceBytes = 1024 * 1024
const minPaceMs = 5 * 60_000

/**
 * Returns a check, to be called every `everyMs`, that throws once a download sent less than 1 MB in 5 minutes: it holds a connection of the object
 * store. Buffers of the system take up to a megabyte at once, so that a shorter time says nothing about a reader on a slow line.
 */
export function paceCheck(everyMs: number, sent: Download['sent']): () => void {
  let [elapsedMs, before] = [0, 0]
  return () => {
    elapsedMs += everyMs
    if (elapsedMs < minPaceMs) return
    if (sent() - before < minPaceBytes) throw new Error('the client does not read its download')
    ;[elapsedMs, before] = [0, sent()]
  }
}

/** `If-Range` with another tag gets the whole file. */
function rangeOf(request: Request, response: Response, { etag, bytes }: FileBody): ByteRange | undefined {
  const onlyOf = request.get('if-range')
  if (onlyOf !== undefined && onlyOf !== etag) return undefined
  try {
    return byteRange(request.get('range'), bytes)
  } catch (error) {
    if (isProblem(error, 'RANGE_NOT_SATISFIABLE')) response.set('content-range', `bytes */${bytes}`)
    throw error
  }
}

/** Removes the file headers if the file cannot be opened, so that the error response is clean. */
async function opened(response: Response, file: FileBody, range: ByteRange | undefined): Promise<AsyncIterable<Uint8Array>> {
  try {
    return await file.open(range)
  } catch (error) {
    for (const name of ['etag', 'content-type', 'content-disposition', 'content-length', 'content-range', 'accept-ranges'])
      response.removeHeader(name)
    throw error
  }
}

/** Destroys the source explicitly: its iterator would leave it open if the client disconnects before the first byte. */
async function streamTo(response: Response, content: AsyncIterable<Uint8Array>, pass: Transform): Promise<void> {
  const source = content instanceof Readable ? content : Readable.from(content, { objectMode: false })
  try {
    await pipeline(source, pass, response)
  } catch (error) {
    if (!disconnectCodes.has((error as { code?: string }).code ?? '')) throw error
  } finally {
    source.destroy()
  }
}

/** A client that disconnects during a download is not an error. */
const disconnectCodes = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE'])

/** First and last byte, both included. */
type ByteRange = Readonly<{ from: number; to: number }>

/**
 * Parses a `Range` header. Undefined means the whole file, also for multiple ranges and invalid headers (RFC 9110, 14.2).
 * Throws RANGE_NOT_SATISFIABLE.
 */
export function byteRange(header: string | undefined, bytes: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return undefined
  const from = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const to = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (first !== '' && last !== '' && Number(last) < from) return undefined
  if (from >= bytes) throw problem('RANGE_NOT_SATISFIABLE', `The range is outside of the file (${bytes} bytes).`)
  return { from, to }
}

/**
 * Renders `Content-Disposition` (RFC 6266, 8187) with both forms of the file name. The plain form replaces everything but printable ASCII, so
 * that no name breaks out of the quotes.
 */
export function disposition(kind: 'inline' | 'attachment', fileName: string): string {
  const plain = fileName.replace(/[^\x20-\x7e]|["\\%]/gu, '_')
  return `${kind}; filename="${plain}"; filename*=${encodeExtended(fileName.replace(/\p{Surrogate}/gu, '\ufffd'))}`
}
