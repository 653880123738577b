import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { PlatformPrincipal } from '../../core/kit/index.ts'
import { type Db, eventsAfter } from '../db/index.ts'
import { streamOf } from '../events/index.ts'
import { type Tagged, tagged } from '../http/index.ts'
import { type BootstrapDeps, buildDocument } from './build-document.ts'
import { DocumentCache } from './document-cache.ts'

/** The number of the newest event of a stream, read after the call began. */
type Heads = (stream: string) => Promise<number>

type Batch = { streams: Set<string>; result: Promise<ReadonlyMap<string, number>> }

/**
 * Batches concurrent calls into one read. Every request checks its document against the database, so replicas need no notification, and under load
 * the check costs almost nothing.
 */
function batchedHeads(db: Db): Heads {
  let next: Batch | undefined
  let last: Promise<unknown> = Promise.resolve()
  const begin = (): Batch => {
    const streams = new Set<string>()
    const before = last.catch(() => undefined)
    const result = before.then(yieldToEventLoop).then(() => {
      next = undefined // who asks from here on is answered by the next read
      return readHeads(db, [...streams])
    })
    last = result
    return { streams, result }
  }
  return async (stream) => {
    next ??= begin()
    next.streams.add(stream)
    return (await next.result).get(stream) ?? 0
  }
}

async function readHeads(db: Db, streams: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('streams')
    .selectAll()
    .where('stream', 'in', [...streams])
    .execute()
  return new Map(rows.map(({ stream, seq }) => [stream, Number(seq)]))
}

const maxEvents = 500
const maxBytes = 32 * 1024 * 1024

type BootstrapDocuments = (caller: Pick<PlatformPrincipal, 'tenantId' | 'tenantSlug' | 'userId'>) => Promise<Tagged>

/**
 * Returns bootstrap documents, cached by user. A document contains everything committed before the call, by any replica: each call reads the number
 * of the tenant's newest event, and the events since the last call decide which documents are stale.
 */
export function bootstrapDocuments(deps: BootstrapDeps, { bytes = maxBytes }: Readonly<{ bytes?: number }> = {}): BootstrapDocuments {
  const { db } = deps
  const heads = batchedHeads(db)
  const kept = new DocumentCache(async (tenantId, after) => {
    const events = await eventsAfter(db, { stream: streamOf(tenantId), after, limit: maxEvents })
    return { events, isFull: events.length === maxEvents }
  }, bytes)
  return async (caller) => {
    const { tenantId, userId } = caller
    const known = await kept.at(tenantId, userId, await heads(streamOf(tenantId)))
    if (known) return known
    const { bootstrap, of, position } = await buildDocument(deps, caller)
    const document = tagged(bootstrap)
    await kept.keep({ tenantId, of, document }, position)
    return document
  }
}
