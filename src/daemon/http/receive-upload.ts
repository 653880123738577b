import type { Request, Response } from 'express'
import multer, { MulterError, type StorageEngine } from 'multer'
import type { z } from 'zod'
import { type Multipart, parsePart } from '../../core/contract/index.ts'
import { type Problem, problem, utf8Text } from '../../core/kit/index.ts'
import { endBody } from './body-time.ts'
import { assertStorable } from './validation.ts'

/** The file part of an upload. `content` is streamed with backpressure; nothing is buffered. */
export type FilePart = Readonly<{
  /** Untrusted text from the client. */
  fileName: string
  contentType: string
  content: AsyncIterable<Uint8Array>
}>

type Taken<Fields, T> = Readonly<{ fields: Fields; taken: T }>

/** An upload whose body is not read yet. */
export type Upload<Fields = unknown> = Readonly<{
  /** Bounds of the file size, from the length of the request. */
  bytes: Readonly<{ least: number; most: number }>
  /**
   * Reads the request and passes the file to `take`. Throws VALIDATION for an invalid or truncated form, PAYLOAD_TOO_LARGE, UNAUTHENTICATED if
   * the session ended meanwhile, and every error of `take`. The caller removes data that `take` stored before an error.
   */
  receive<T>(take: (part: FilePart) => Promise<T>): Promise<Taken<Fields, T>>
}>

/** `revalidate` rejects when the caller has lost access: an upload takes minutes. */
type Incoming = Readonly<{ multipart: Multipart; request: Request; response: Response; revalidate: () => Promise<unknown> }>

/** Bytes of boundaries and headers around the parts. */
const aroundBytes = 16 * 1024
const maxFields = 20
const defaultFieldBytes = 16 * 1024

/** Throws UNSUPPORTED_MEDIA_TYPE, and PAYLOAD_TOO_LARGE by the declared length. */
export function openUpload({ multipart, request, response, revalidate }: Incoming): Upload {
  if (!request.is('multipart/form-data')) throw problem('UNSUPPORTED_MEDIA_TYPE', 'Send the body as multipart/form-data.')
  const declared = request.headers['content-length']
  const { maxBytes } = multipart
  const least = declared === undefined ? 0 : Math.max(0, Number(declared) - besideBytes(multipart))
  if (least > maxBytes) throw tooLarge(maxBytes)
  const most = declared === undefined ? maxBytes : Math.min(Number(declared), maxBytes)
  return { bytes: { least, most }, receive: (take) => receive({ multipart, request, response, revalidate }, take) }
}

/** Bytes of a form beside its file. */
const besideBytes = ({ fieldBytes = defaultFieldBytes }: Multipart): number => aroundBytes + maxFields * fieldBytes

const tooLarge = (maxBytes: number) => problem('PAYLOAD_TOO_LARGE', `The file exceeds the limit of ${maxBytes / 1024 / 1024} MB.`)

async function receive<T>(incoming: Incoming, take: (part: FilePart) => Promise<T>): Promise<Taken<unknown, T>> {
  const { multipart, request } = incoming
  const engine = streamingEngine(multipart, take)
  const failure = await parsed(incoming, engine)
  // A disconnect ends the form at once. `take` must have finished before the caller cleans up.
  const [outcome] = await Promise.allSettled([engine.taking()])
  if (outcome.status === 'rejected' && !engine.brokeOff()) throw outcome.reason
  if (failure !== undefined || outcome.status === 'rejected') throw invalidForm(failure, multipart)
  if (!engine.began()) throw invalidForm(new MulterError('MISSING_FIELD_NAME'), multipart)
  const fields: unknown = parsePart(multipart.fields as z.ZodType, { ...request.body }, '')
  assertStorable(fields)
  await incoming.revalidate()
  return { fields, taken: outcome.value as T }
}

/** The whole content of a small file. The form has bounded its size. */
export async function bytesOf(upload: Upload): Promise<Buffer> {
  const { taken } = await upload.receive(async ({ content }) => {
    const parts: Uint8Array[] = []
    for await (const part of content) parts.push(part)
    return Buffer.concat(parts)
  })
  return taken
}

/** Reads the form. Resolves with the failure, or undefined. */
function parsed({ multipart, request, response }: Incoming, storage: StorageEngine): Promise<unknown> {
  const { part, fieldBytes = defaultFieldBytes } = multipart
  const limits = { files: 1, fields: maxFields, parts: 1 + maxFields, fieldSize: fieldBytes, fieldNestingDepth: 0, headerPairs: 20 }
  const reader = multer({ storage, limits, defParamCharset: 'latin1', preservePath: true }).single(part)
  endAbove({ multipart, request, response })
  return new Promise((done) => void reader(request, response, done))
}

/** Ends a body whose length was not declared: text before, between and behind the parts belongs to none of them, and may have no end. */
function endAbove({ multipart, request, response }: Omit<Incoming, 'revalidate'>): void {
  if (request.headers['content-length'] !== undefined) return
  const most = multipart.maxBytes + besideBytes(multipart)
  let bytes = 0
  const count = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= most) return
    request.off('data', count)
    endBody(request, response, tooLarge(multipart.maxBytes))
  }
  request.on('data', count)
}

/** The name from its bytes: UTF-8, or Latin-1 of an old client. A name of `filename*` may have other letters, and is decoded already. */
const decodedName = (name: string): string => (/[^\0-\xff]/.test(name) ? name : (utf8Text(Buffer.from(name, 'latin1')) ?? name))

/** A multer engine that streams the file to `take`. */
function streamingEngine<T>({ maxBytes }: Multipart, take: (part: FilePart) => Promise<T>) {
  let taking: Promise<T | undefined> = Promise.resolve(undefined)
  let [began, brokeOff] = [false, false]
  async function* passed(stream: AsyncIterable<Uint8Array>) {
    let bytes = 0
    try {
      for await (const chunk of stream) {
        bytes += chunk.length
        if (bytes > maxBytes) break
        yield chunk
      }
    } catch (error) {
      brokeOff = true
      throw error
    }
    if (bytes > maxBytes) throw tooLarge(maxBytes)
  }
  const engine: StorageEngine = {
    _handleFile(_, { originalname, mimetype, stream }, done) {
      began = true
      taking = take({ fileName: decodedName(originalname), contentType: mimetype, content: passed(stream) })
      taking.then(
        () => done(null, {}),
        (error) => done(error),
      )
    },
    _removeFile: (_, __, done) => done(null),
  }
  return { ...engine, taking: () => taking, began: () => began, brokeOff: () => brokeOff }
}

function invalidForm(failure: unknown, { part }: Multipart): Problem {
  const reason = failure instanceof MulterError ? reasons(part)[failure.code] : undefined
  const says = reason ?? 'the form is malformed or incomplete'
  return problem('VALIDATION', `${part}: ${says}`, { details: [{ path: part, reason: says }] })
}

const reasons = (part: string): Partial<Record<MulterError['code'], string>> => ({
  MISSING_FIELD_NAME: `is missing: send the file as the part ${part}, with a valid file name`,
  LIMIT_UNEXPECTED_FILE: `must be the one part with a file name`,
  LIMIT_FILE_COUNT: 'must be one file',
  LIMIT_FIELD_KEY: 'comes with a part whose name is too long',
  LIMIT_FIELD_VALUE: 'comes with a text part that is too long',
  LIMIT_PART_COUNT: `comes with more than ${maxFields} other parts`,
  LIMIT_FIELD_COUNT: `comes with more than ${maxFields} text parts`,
})
