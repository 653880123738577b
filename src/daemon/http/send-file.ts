import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { isProblem } from '../../core/kit/index.ts'
import { type ByteRange, byteRange } from './byte-range.ts'
import { disposition } from './disposition.ts'
import { holds } from './tagged.ts'

/** The bytes of a file and what they are. `open` is called only when bytes are sent, once. */
export type FileBody = Readonly<{
  fileName: string
  contentType: string
  /** A browser may show it in place; all else is only ever saved. */
  inline: boolean
  bytes: number
  /** Strong: as long as it stays, so do the bytes. */
  etag: string
  open(range?: ByteRange): Promise<AsyncIterable<Uint8Array>>
  /** Until the signal aborts: what rejects as soon as whoever has the file sent may not have it any more, whatever their token says. */
  stands?(over: AbortSignal): () => Promise<unknown>
}>

/** What somebody uploaded must never act as a page of ours, whatever a browser takes it for (SECURITY, Inputs). */
const harmless = { 'content-security-policy': "default-src 'none'; sandbox", 'x-content-type-options': 'nosniff' }

/** Ends what is under way as soon as whoever asked for it may not have it any more, until it is through. */
export type Standing = (download: Readonly<{ signal: AbortSignal; end: () => void }>) => Promise<void>

/**
 * Streams a file, or the part that is asked for; 304 to whoever has it. Bytes are sent as long as `standing` lets them. Throws
 * RANGE_NOT_SATISFIABLE.
 */
export async function sendFile(request: Request, response: Response, file: FileBody, standing: Standing): Promise<void> {
  response.set({ ...harmless, etag: file.etag, 'cache-control': 'private, no-cache', 'accept-ranges': 'bytes' }).vary('Authorization')
  if (holds(request.headers['if-none-match'], file.etag)) return void response.status(304).end()
  const range = wantedRange(request, response, file)
  response.status(range ? 206 : 200).set({
    'content-type': file.contentType,
    'content-disposition': disposition(file.inline ? 'inline' : 'attachment', file.fileName),
    'content-length': String(range ? range.to - range.from + 1 : file.bytes),
    ...(range ? { 'content-range': `bytes ${range.from}-${range.to}/${file.bytes}` } : {}),
  })
  if (request.method === 'HEAD') return void response.end()
  const content = await opened(response, file, range)
  const over = new AbortController()
  void standing({ signal: over.signal, end: () => response.destroy() })
  await flow(response, content).finally(() => over.abort())
}

/** A part of an older file does not fit to one of a newer. */
function wantedRange(request: Request, response: Response, { etag, bytes }: FileBody): ByteRange | undefined {
  const onlyOf = request.get('if-range')
  if (onlyOf !== undefined && onlyOf !== etag) return undefined
  try {
    return byteRange(request.get('range'), bytes)
  } catch (error) {
    if (isProblem(error, 'RANGE_NOT_SATISFIABLE')) response.set('content-range', `bytes */${bytes}`)
    throw error
  }
}

/** A failure is answered as one: nothing of the head is out yet. */
async function opened(response: Response, file: FileBody, range: ByteRange | undefined): Promise<AsyncIterable<Uint8Array>> {
  try {
    return await file.open(range)
  } catch (error) {
    for (const name of ['etag', 'content-type', 'content-disposition', 'content-length', 'content-range', 'accept-ranges'])
      response.removeHeader(name)
    throw error
  }
}

/**
 * A stream is let go of itself: through its iterator it would stay open when the client left before the first byte, or while none comes. One for
 * a client that left before it was opened some versions of Node do not begin, and leave open.
 */
async function flow(response: Response, content: AsyncIterable<Uint8Array>): Promise<void> {
  const source = content instanceof Readable ? content : Readable.from(content, { objectMode: false })
  try {
    await pipeline(source, response)
  } catch (error) {
    if (!hasLeft.has((error as { code?: string }).code ?? '')) throw error
  } finally {
    source.destroy()
  }
}

/** Who leaves in the middle of a download is no fault. */
const hasLeft = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE'])
