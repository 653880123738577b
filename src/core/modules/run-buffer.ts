import { maxDataBytes, maxPayloadBytes, maxPublishesPerMinute, runLimits } from './limits.ts'
import type { ModuleManifest } from './manifest.ts'
import { CallRefused, type SvcHandlers } from './svc.ts'

/** A stored document. `version` changes with each write. */
export type StoredDocument = Readonly<{ key: string; json: string; version: number }>
/** Documents by key: those that begin with `prefix` and come after `after`. */
export type KeyRange = Readonly<{ prefix: string; after: string; limit: number }>

/** The state of a tenant as a run reads it. It changes nothing. */
export type RunReads = Readonly<{
  document(key: string): Promise<StoredDocument | undefined>
  documents(range: KeyRange): Promise<readonly StoredDocument[]>
  /** Bytes of these documents together. */
  bytesOf(keys: readonly string[]): Promise<number>
  spaces(): Promise<readonly unknown[]>
  /** Throws CallRefused NOT_FOUND unless the run may use the space. */
  assertSpace(spaceId: string): Promise<void>
  files(spaceId: string): Promise<readonly unknown[]>
  readFile(fileId: string): Promise<Readonly<{ name: string; content: string }>>
}>

/** A document as the run leaves it; `json` null: deleted. */
type DocumentChange = Readonly<{ key: string; json: string | null }>
type PublishedEvent = Readonly<{ name: string; payload: unknown; spaceId?: string | undefined }>
type WrittenFile = Readonly<{ id: string; spaceId: string; name: string; content: string }>

/** The changes of a run and the documents that it read. They are applied as a whole, while those documents are unchanged. */
export type RunEffects = Readonly<{
  documents: readonly DocumentChange[]
  published: readonly PublishedEvent[]
  files: readonly WrittenFile[]
  /** Version by key; 0: there was no such document. */
  reads: ReadonlyMap<string, number>
  ranges: readonly (KeyRange & Readonly<{ seen: readonly (readonly [key: string, version: number])[] }>)[]
}>

type Options = Readonly<{
  reads: RunReads
  manifest: Pick<ModuleManifest, 'events'>
  /** Bytes of all documents before the run. */
  dataBytes: number
  /** Events published in this minute before the run. */
  publishedBefore: number
  newFileId: () => string
  /** False where no other run changes the documents, as in a migration: there is nothing to check, and its many reads would fill the memory. */
  keepsReads?: boolean
}>

export const sizeOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length
export const bytesIn = (text: string): number => new TextEncoder().encode(text).length

/** Bytes that count for a document. */
export const documentBytes = ({ key, json }: Readonly<{ key: string; json: string }>): number => key.length + bytesIn(json)

const bytesOf = (key: string, json: string | null | undefined): number => (json == null ? 0 : documentBytes({ key, json }))

/** Documents as a call returns them. What is too much for its result is not even parsed: a run could keep the thread that way. */
export function listed(documents: readonly (readonly [key: string, json: string])[]): unknown {
  if (documents.reduce((sum, [, { length }]) => sum + length, 0) > runLimits.callBytes) throw tooManyBytes()
  return documents.map(([key, json]) => ({ key, value: JSON.parse(json) }))
}

export const tooManyBytes = () => new CallRefused('TOO_LARGE', 'the documents have more than 256 KB together. fix: use a smaller limit')

/**
 * Serves the calls of one run: writes stay in memory and later reads of the run see them. Nothing is stored before `effects` are applied, so a run
 * that fails leaves nothing.
 */
export class RunBuffer {
  private readonly options: Options
  private readonly documents = new Map<string, string | null>()
  /** Bytes of the documents that the run wrote: a sum of its own, so that many writes cost no more than their bytes. */
  private ownBytes = 0
  private readonly read = new Map<string, number>()
  private readonly ranges: RunEffects['ranges'][number][] = []
  private readonly published: PublishedEvent[] = []
  private readonly written: WrittenFile[] = []
  private readonly declared: ReadonlySet<string>
  private readonly keepsReads: boolean

  constructor(options: Options) {
    this.options = options
    this.keepsReads = options.keepsReads ?? true
    this.declared = new Set(options.manifest.events.publishes.map(({ name }) => name))
  }

  readonly handlers: SvcHandlers = {
    'data.get': ({ key }) => this.get(key),
    'data.put': ({ key, value }) => this.put(key, JSON.stringify(value)),
    'data.delete': async ({ key }) => this.set(key, null),
    'data.list': ({ prefix, limit, after = '' }) => this.list({ prefix, limit, after }),
    'events.publish': (event) => this.publish(event),
    'spaces.list': () => this.options.reads.spaces(),
    'files.list': async ({ spaceId }) => [...(await this.options.reads.files(spaceId)), ...this.writtenTo(spaceId)],
    'files.read': async ({ fileId }) => {
      const own = this.written.find(({ id }) => id === fileId)
      return own ? { name: own.name, content: own.content } : this.options.reads.readFile(fileId)
    },
    'files.write': (file) => this.write(file),
  }

  get changedDocuments(): number {
    return this.documents.size
  }

  get changedBytes(): number {
    return this.ownBytes
  }

  effects(): RunEffects {
    const documents = [...this.documents].map(([key, json]) => ({ key, json }))
    return { documents, published: this.published, files: this.written, reads: this.read, ranges: this.ranges }
  }

  private async get(key: string): Promise<unknown> {
    const own = this.documents.get(key)
    if (own !== undefined) return own === null ? null : JSON.parse(own)
    const stored = await this.options.reads.document(key)
    this.see(key, stored?.version ?? 0)
    return stored ? JSON.parse(stored.json) : null
  }

  /** The first version counts: a document that changed while the run read it twice is a conflict. */
  private see(key: string, version: number): void {
    if (this.keepsReads && !this.read.has(key)) this.read.set(key, version)
  }

  private async put(key: string, json: string): Promise<void> {
    const before = this.documents.get(key)
    this.set(key, json)
    if (await this.isTooMuch()) {
      this.set(key, before)
      throw new CallRefused('QUOTA_EXCEEDED', 'the module has more than 50 MB of documents', 'data_size')
    }
  }

  private set(key: string, json: string | null | undefined): void {
    this.ownBytes += bytesOf(key, json) - bytesOf(key, this.documents.get(key))
    if (json === undefined) this.documents.delete(key)
    else this.documents.set(key, json)
  }

  /** Sizes of replaced documents are read only if the sum without them is too much. */
  private async isTooMuch(): Promise<boolean> {
    const { dataBytes, reads } = this.options
    const bytes = dataBytes + this.ownBytes
    return bytes > maxDataBytes && bytes - (await reads.bytesOf([...this.documents.keys()])) > maxDataBytes
  }

  /** Own changes are laid over the stored documents; as many more are read as own changes could hide. */
  private async list(range: KeyRange): Promise<unknown> {
    const { prefix, after, limit } = range
    const own = new Map([...this.documents].filter(([key]) => key.startsWith(prefix) && key > after))
    const asked = { prefix, after, limit: limit + own.size }
    const stored = await this.options.reads.documents(asked)
    if (this.keepsReads) this.ranges.push({ ...asked, seen: stored.map(({ key, version }) => [key, version] as const) })
    const all = new Map<string, string | null>([...stored.map(({ key, json }) => [key, json] as const), ...own])
    const found = [...all].filter((one): one is [string, string] => one[1] !== null).sort(([a], [b]) => (a < b ? -1 : 1))
    return listed(found.slice(0, limit))
  }

  private async publish({ name, payload, spaceId }: Parameters<SvcHandlers['events.publish']>[0]): Promise<void> {
    if (!this.declared.has(name)) throw new CallRefused('ARGUMENT', `the manifest does not declare the event ${name}`)
    if (sizeOf(payload) > maxPayloadBytes) throw new CallRefused('ARGUMENT', 'the payload has more than 16 KB')
    if (this.options.publishedBefore + this.published.length >= maxPublishesPerMinute)
      throw new CallRefused('RATE_LIMITED', `the module published ${maxPublishesPerMinute} events within a minute`, 'publishes')
    if (spaceId !== undefined) await this.options.reads.assertSpace(spaceId)
    this.published.push({ name, payload, spaceId })
  }

  private async write(file: Parameters<SvcHandlers['files.write']>[0]): Promise<unknown> {
    await this.options.reads.assertSpace(file.spaceId)
    if (bytesIn(file.content) > runLimits.callBytes) throw new CallRefused('ARGUMENT', 'the file has more than 256 KB')
    const id = this.options.newFileId()
    this.written.push({ id, ...file })
    return { id }
  }

  private writtenTo(spaceId: string): readonly unknown[] {
    const files = this.written.filter((file) => file.spaceId === spaceId)
    return files.map(({ content, ...file }) => ({ ...file, bytes: bytesIn(content) }))
  }
}
