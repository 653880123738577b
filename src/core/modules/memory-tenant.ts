import { maxDataBytes, maxPayloadBytes, runLimits } from './limits.ts'
import type { ModuleManifest } from './manifest.ts'
import { bytesIn, documentBytes, listed, sizeOf } from './run-buffer.ts'
import type { Samples } from './samples.ts'
import { CallRefused, type SvcHandlers } from './svc.ts'

export type Published = Readonly<{ name: string; payload: unknown; spaceId?: string }>
type File = Samples['files'][number]

/** The daemon reads all of them in each list, and serves no other call meanwhile. */
const maxDocuments = 10_000
const maxFiles = 1000

/**
 * Documents, files and spaces of a tenant in memory, for tests of a module. As in the platform, a run that fails changes nothing. The store tests
 * packages of strangers with it: what they store is limited, and kept as JSON, which is smaller than its objects.
 */
export class MemoryTenant {
  private documents = new Map<string, string>()
  private bytes = 0
  private files: readonly File[]
  /** The files that the module wrote. */
  private fileBytes = 0
  private readonly spaces: Samples['spaces']
  private readonly declared: ReadonlySet<string>

  constructor({ spaces, files }: Pick<Samples, 'spaces' | 'files'>, { events }: Pick<ModuleManifest, 'events'>) {
    this.spaces = spaces
    this.files = files
    this.declared = new Set(events.publishes.map(({ name }) => name))
  }

  document(key: string): unknown {
    return JSON.parse(this.documents.get(key) ?? 'null')
  }

  /** The calls of one run on a copy; `commit` makes it the state. */
  begin(): Readonly<{ handlers: SvcHandlers; published: readonly Published[]; commit(): void }> {
    const documents = new Map(this.documents)
    let bytes = this.bytes
    const sizeOfDocument = (key: string, json = documents.get(key)) => (json === undefined ? 0 : documentBytes({ key, json }))
    const files = [...this.files]
    let fileBytes = this.fileBytes
    const published: Published[] = []
    const fileOf = ({ fileId }: { fileId: string }): File => {
      const found = files.find(({ id }) => id === fileId)
      if (found) return found
      throw new CallRefused('NOT_FOUND', `there is no file ${fileId}`)
    }
    const handlers: SvcHandlers = {
      'data.get': async ({ key }) => JSON.parse(documents.get(key) ?? 'null'),
      'data.put': async ({ key, value }) => {
        const json = JSON.stringify(value)
        const grown = sizeOfDocument(key, json) - sizeOfDocument(key)
        if (documents.size >= maxDocuments && !documents.has(key))
          throw new CallRefused('QUOTA_EXCEEDED', `a test has more than ${maxDocuments} documents`)
        if (bytes + grown > maxDataBytes) throw new CallRefused('QUOTA_EXCEEDED', 'the module has more than 50 MB of documents')
        bytes += grown
        documents.set(key, json)
      },
      'data.delete': async ({ key }) => {
        bytes -= sizeOfDocument(key)
        documents.delete(key)
      },
      'data.list': async ({ prefix, limit, after = '' }) =>
        listed(
          [...documents]
            .filter(([key]) => key.startsWith(prefix) && key > after)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .slice(0, limit),
        ),
      'events.publish': async (event) => {
        if (!this.declared.has(event.name)) throw new CallRefused('ARGUMENT', `the manifest does not declare the event ${event.name}`)
        if (sizeOf(event.payload) > maxPayloadBytes) throw new CallRefused('ARGUMENT', 'the payload has more than 16 KB')
        published.push(event as Published)
      },
      'spaces.list': async () => this.spaces,
      'files.list': async ({ spaceId }) =>
        files.filter((file) => file.spaceId === spaceId).map(({ content, ...file }) => ({ ...file, bytes: content.length })),
      'files.read': async (input) => {
        const { name, content } = fileOf(input)
        return { name, content }
      },
      'files.write': async (file) => {
        if (!this.spaces.some(({ id }) => id === file.spaceId)) throw new CallRefused('NOT_FOUND', `there is no space ${file.spaceId}`)
        const size = bytesIn(file.content)
        if (size > runLimits.callBytes) throw new CallRefused('ARGUMENT', 'the file has more than 256 KB')
        if (files.length >= maxFiles || fileBytes + size > maxDataBytes)
          throw new CallRefused('QUOTA_EXCEEDED', `a test has more than ${maxFiles} files, or 50 MB of them`)
        fileBytes += size
        const id = `fil_${files.length + 1}`
        files.push({ id, ...file })
        return { id }
      },
    }
    const commit = () => {
      this.documents = documents
      this.bytes = bytes
      this.files = files
      this.fileBytes = fileBytes
    }
    return { handlers, published, commit }
  }
}
