import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import type { DocumentSources } from '../../core/bootstrap/index.ts'
import { isStale } from '../../core/bootstrap/index.ts'
import type { StoredEvent } from '../db/index.ts'
import type { Tagged } from '../http/index.ts'

type CacheEntry = Readonly<{ tenantId: string; of: DocumentSources; document: Tagged }>

/** The documents of one tenant, valid up to the event `position`. */
class TenantDocuments {
  readonly byUser = new Map<string, CacheEntry>()
  position: number
  /** Serialises the reads of events. */
  readonly oneAtATime = pLimit(1)

  constructor(position: number) {
    this.position = position
  }
}

type Read = (tenantId: string, after: number) => Promise<Readonly<{ events: readonly StoredEvent[]; isFull: boolean }>>

/** Size of one entry besides its text. */
const overheadBytes = 400

/**
 * Documents by tenant and user. An event drops exactly the documents that it makes stale. Beyond the size limit the least recently used are
 * dropped.
 */
export class DocumentCache {
  readonly #tenants = new Map<string, TenantDocuments>()
  /** Entries of all tenants. */
  readonly #entries: LRUCache<string, CacheEntry>
  readonly #read: Read

  constructor(read: Read, maxBytes: number) {
    this.#read = read
    this.#entries = new LRUCache({ maxSize: maxBytes, sizeCalculation: sizeOf, dispose: (entry) => this.#removeFromTenant(entry) })
  }

  get count(): number {
    return this.#entries.size
  }

  /** The cached document of a user, if it is valid up to the event `head`. */
  async at(tenantId: string, userId: string, head: number): Promise<Tagged | undefined> {
    const tenant = this.#tenants.get(tenantId)
    if (!tenant) return undefined
    if (tenant.position < head) await this.#catchUp(tenantId, tenant, head)
    const entry = tenant.byUser.get(userId)
    return entry && this.#entries.get(keyOf(entry))?.document
  }

  /** Stores a document built at the event `position`, unless later events have arrived: they might change it. */
  async keep(entry: CacheEntry, position: number): Promise<void> {
    const { tenantId, of } = entry
    const before = this.#tenants.get(tenantId)
    if (before && before.position < position) await this.#catchUp(tenantId, before, position)
    const tenant = this.#tenants.get(tenantId) ?? new TenantDocuments(position) // a tenant without entries was removed
    if (tenant.position !== position) return
    const key = keyOf(entry)
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    if (!this.#entries.has(key)) return // larger than the whole cache
    this.#tenants.set(tenantId, tenant)
    tenant.byUser.set(of.userId, entry)
  }

  async #catchUp(tenantId: string, tenant: TenantDocuments, head: number): Promise<void> {
    await tenant.oneAtATime(() => this.#advance(tenantId, tenant, head))
  }

  async #advance(tenantId: string, tenant: TenantDocuments, head: number): Promise<void> {
    if (tenant.position >= head) return
    const { events, isFull } = await this.#read(tenantId, tenant.position)
    const last = events.at(-1)?.seq ?? 0
    // Events are missing, or too many: rebuilding is cheaper.
    const isLost = isFull || last < head || events.some(({ seq }, n) => seq !== tenant.position + n + 1)
    for (const kept of tenant.byUser.values())
      if (isLost || events.some((event) => isStale(kept.of, event))) this.#entries.delete(keyOf(kept))
    tenant.position = Math.max(head, last)
  }

  #removeFromTenant({ tenantId, of }: CacheEntry): void {
    const tenant = this.#tenants.get(tenantId)
    tenant?.byUser.delete(of.userId)
    if (tenant?.byUser.size === 0) this.#tenants.delete(tenantId)
  }
}

const keyOf = ({ tenantId, of }: CacheEntry): string => `${tenantId} ${of.userId}`
const sizeOf = ({ document, of }: CacheEntry): number =>
  2 * document.text.length + overheadBytes + 60 * (of.taskIds.size + of.spaceIds.size)
