import type { Request, Response } from 'express'
import multer, { MulterError, type StorageEngine } from 'multer'
import type { z } from 'zod'
import { type Multipart, parsePart } from '../../core/contract/index.ts'
import { type Problem, problem } from '../../core/kit/index.ts'
import { refuseUnkept } from './refuse-unkept.ts'

/** The part that is the file, while it comes in. Reading `content` is what makes the client send on: nothing is kept on the way. */
export type FilePart = Readonly<{
  /** As the client says it: any text. */
  fileName: string
  contentType: string
  content: AsyncIterable<Uint8Array>
}>

type Taken<Fields, T> = Readonly<{ fields: Fields; taken: T }>

/** An upload of which no byte of the body was read yet. */
export type Upload<Fields = unknown> = Readonly<{
  /** What the file can have, by the length of the whole request. */
  bytes: Readonly<{ least: number; most: number }>
  /**
   * Reads the request: `take` is given the file and answers what became of it. It is over when this resolves or rejects. Throws VALIDATION for
   * a form that is not as declared or breaks off, PAYLOAD_TOO_LARGE, UNAUTHENTICATED where the caller's session ended meanwhile, and whatever
   * `take` throws; what `take` kept by then is its caller's to remove.
   */
  receive<T>(take: (part: FilePart) => Promise<T>): Promise<Taken<Fields, T>>
}>

/** `stands` rejects when the caller may not call any more: an upload takes minutes, and an ended session is over within a second. */
type Incoming = Readonly<{ multipart: Multipart; request: Request; response: Response; stands: () => Promise<unknown> }>

/** What a form may hold beside its parts: boundaries and headers. */
const aroundBytes = 16 * 1024
const mostFields = 20
const defaultFieldBytes = 16 * 1024

/** Throws UNSUPPORTED_MEDIA_TYPE, and PAYLOAD_TOO_LARGE where the length of the request says so already. */
export function openUpload({ multipart, request, response, stands }: Incoming): Upload {
  if (!request.is('multipart/form-data')) throw problem('UNSUPPORTED_MEDIA_TYPE', 'send the body as multipart/form-data')
  const declared = request.headers['content-length']
  const { maxBytes, fieldBytes = defaultFieldBytes } = multipart
  const least = declared === undefined ? 0 : Math.max(0, Number(declared) - aroundBytes - mostFields * fieldBytes)
  if (least > maxBytes) throw tooLarge(maxBytes)
  const most = declared === undefined ? maxBytes : Math.min(Number(declared), maxBytes)
  return { bytes: { least, most }, receive: (take) => receive({ multipart, request, response, stands }, take) }
}

const tooLarge = (maxBytes: number) =>
  problem('PAYLOAD_TOO_LARGE', `a file may have ${maxBytes / 1024 / 1024} MB at most: send a smaller one`)

async function receive<T>(incoming: Incoming, take: (part: FilePart) => Promise<T>): Promise<Taken<unknown, T>> {
  const { multipart, request } = incoming
  const engine = passingOn(multipart, take)
  const failure = await parsed(incoming, engine)
  // A client that leaves ends the form at once; who takes the file must have let go of it before anybody clears up.
  const [outcome] = await Promise.allSettled([engine.taking()])
  if (outcome.status === 'rejected' && !engine.brokeOff()) throw outcome.reason
  if (failure !== undefined || outcome.status === 'rejected') throw wrongForm(failure, multipart)
  if (!engine.began()) throw wrongForm(new MulterError('MISSING_FIELD_NAME'), multipart)
  const fields: unknown = parsePart(multipart.fields as z.ZodType, { ...request.body }, '')
  refuseUnkept(fields)
  await incoming.stands()
  return { fields, taken: outcome.value as T }
}

/** Resolves once the whole form was read, or with why it was not. */
function parsed({ multipart, request, response }: Incoming, storage: StorageEngine): Promise<unknown> {
  const { part, fieldBytes = defaultFieldBytes } = multipart
  const limits = { files: 1, fields: mostFields, fieldSize: fieldBytes, fieldNestingDepth: 0, headerPairs: 20 }
  const reader = multer({ storage, limits, defParamCharset: 'utf8', preservePath: true }).single(part)
  return new Promise((done) => void reader(request, response, done))
}

/** Hands the file on as it comes. */
function passingOn<T>({ maxBytes }: Multipart, take: (part: FilePart) => Promise<T>) {
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
      taking = take({ fileName: originalname, contentType: mimetype, content: passed(stream) })
      taking.then(
        () => done(null, {}),
        (error) => done(error),
      )
    },
    _removeFile: (_, __, done) => done(null),
  }
  return { ...engine, taking: () => taking, began: () => began, brokeOff: () => brokeOff }
}

function wrongForm(failure: unknown, { part }: Multipart): Problem {
  const reason = failure instanceof MulterError ? reasons(part)[failure.code] : undefined
  const says = reason ?? 'the form cannot be read, or broke off before its end: send it again'
  return problem('VALIDATION', `${part}: ${says}`, { details: [{ path: part, reason: says }] })
}

const reasons = (part: string): Partial<Record<MulterError['code'], string>> => ({
  MISSING_FIELD_NAME: `is missing: send the file as the part ${part}, with a file name`,
  LIMIT_UNEXPECTED_FILE: `must be the one part with a file name`,
  LIMIT_FILE_COUNT: 'must be one file',
  LIMIT_FIELD_KEY: 'comes with a part whose name is too long',
  LIMIT_FIELD_VALUE: 'comes with a text part that is too long',
  LIMIT_FIELD_COUNT: `comes with more than ${mostFields} text parts`,
})
