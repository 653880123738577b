import type { PlatformPrincipal } from '../../core/kit/index.ts'
import { eventsAfter } from '../db/index.ts'
import { streamOf } from '../events/index.ts'
import { type Tagged, tagged } from '../http/index.ts'
import type { BootstrapDeps } from './deps.ts'
import { makeHeads } from './heads.ts'
import { KeptDocuments } from './kept-documents.ts'
import { makeDocument } from './make-document.ts'

const mostEvents = 500
const mostBytes = 32 * 1024 * 1024

type BootstrapOf = (caller: Pick<PlatformPrincipal, 'tenantId' | 'tenantSlug' | 'userId'>) => Promise<Tagged>

/**
 * A user's bootstrap document. It is kept, and each answer holds all that was committed before the call came, by whichever replica: every change of it
 * is an event of the tenant, the number of its newest event is asked for each time, and what came since says whose documents are stale.
 */
export function bootstrapOf(deps: BootstrapDeps, { bytes = mostBytes }: Readonly<{ bytes?: number }> = {}): BootstrapOf {
  const { db } = deps
  const heads = makeHeads(db)
  const kept = new KeptDocuments(async (tenantId, after) => {
    const events = await eventsAfter(db, { stream: streamOf(tenantId), after, limit: mostEvents })
    return { events, isFull: events.length === mostEvents }
  }, bytes)
  return async (caller) => {
    const { tenantId, userId } = caller
    const known = await kept.at(tenantId, userId, await heads(streamOf(tenantId)))
    if (known) return known
    const { bootstrap, of, position } = await makeDocument(deps, caller)
    const document = tagged(bootstrap)
    await kept.keep({ tenantId, of, document }, position)
    return document
  }
}
