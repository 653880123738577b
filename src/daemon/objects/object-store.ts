import { createHash } from 'node:crypto'
import { isProblem, problem } from '../../core/kit/index.ts'

export type Kept = Readonly<{ bytes: number; sha256: string }>
export type Stretch = Readonly<{ from: number; to: number }>

/**
 * Every verb may throw OBJECT_STORE_UNAVAILABLE. A key is put once: replaced content gets a new key. Rows that name a key are written
 * before its object, so that a kill leaves no unknown object.
 */
export type ObjectStore = Readonly<{
  /** Keeps what comes, whole or not at all: once it resolves, a power cut takes nothing away. What reading `content` throws is thrown on. */
  put(key: string, content: AsyncIterable<Uint8Array>): Promise<Kept>
  /** The bytes, or a range of them, both ends included; undefined if the object does not exist. */
  get(key: string, stretch?: Stretch): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Takes the object away, and what a put of it left unfinished. Again changes nothing. */
  remove(key: string): Promise<void>
  /** Takes away all objects whose keys begin with this folder, known to the database or not, and what puts of them left unfinished. */
  removeBelow(folder: string): Promise<void>
  /** Throws when nothing could be kept here now. */
  look(): Promise<void>
}>

/** A store before its guard. */
export type PlainStore = ObjectStore &
  Readonly<{
    /** The folder or the address, for operators. */
    name: string
    /** For a store that has none of the objects that the database names: the steps of the operator. */
    fix: string
    has(key: string): Promise<boolean>
    /** Keeps the folder of this object known when its last object is removed. */
    remember(key: string): Promise<void>
    /** Whether the folder of this object is known: one of its objects was stored here, or removed. */
    remembers(key: string): Promise<boolean>
    /** How long after a used store was found it is not checked again. */
    trustMs: number
  }>

/** The operator puts it into a store whose objects are lost for good. */
export const lostKey = 'lost_for_good'

const keyForm = /^[a-z0-9_]+(\/[a-z0-9_]+)*$/

/** Keys come from this program alone, so one that could lead elsewhere is a fault of it. */
export function checkedKey(key: string): string {
  if (!keyForm.test(key)) throw new Error(`no key of an object: ${JSON.stringify(key)}`)
  return key
}

/** Streams content and returns its size and hash. `reason` separates a failed store from an interrupted upload. */
export function summed(content: AsyncIterable<Uint8Array>) {
  const hash = createHash('sha256')
  let bytes = 0
  let broke: Readonly<{ error: unknown }> | undefined
  async function* passed() {
    try {
      for await (const chunk of content) {
        hash.update(chunk)
        bytes += chunk.length
        yield chunk
      }
    } catch (error) {
      broke = { error }
      throw error
    }
  }
  const reason = (error: unknown): unknown => (broke ? broke.error : storeFailure(error))
  return { content: passed(), kept: (): Kept => ({ bytes, sha256: hash.digest('hex') }), reason }
}

/** Expected failures stay what they are; the log has the cause of the rest, for operators alone. */
export const storeFailure = (error: unknown): unknown =>
  isProblem(error)
    ? error
    : problem(
        'OBJECT_STORE_UNAVAILABLE',
        'files can be neither stored nor read: the object store does not answer. fix: try again in a minute',
        { cause: error },
      )

/** The content of an object whose bytes are at hand. */
export async function* wholeContent(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
