import { z } from 'zod'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { tenantIdsAfter } from '../tenants/index.ts'
import type { MarketplaceDeps } from './deps.ts'

/** Publishes a change of an item to all tenants. */
export const announceTopic = 'marketplace.announce'

export const announceItem = ({ clock }: Pick<MarketplaceDeps, 'clock'>, tx: Tx, itemId: string): Promise<void> =>
  enqueueJob(tx, clock, { topic: announceTopic, payload: { itemId }, key: itemId })

/** Tenants per transaction: their own events wait for its end. A commit for each would cost more than all of their rows. */
const batch = 50

/** One event for each tenant. After a crash some receive a second one. */
export const announce =
  ({ db, clock }: Pick<MarketplaceDeps, 'db' | 'clock'>): JobHandler =>
  async (payload, { signal }) => {
    const { itemId } = z.object({ itemId: z.string() }).parse(payload)
    let after = ''
    for (let last = batch; last === batch; ) {
      signal?.throwIfAborted()
      const ids = await tenantIdsAfter(db, { after, limit: batch })
      await db.transaction().execute(async (tx) => {
        for (const tenantId of ids)
          await recordEvent(tx, clock, { tenantId, type: 'marketplace.item_changed', payload: { itemId }, audience: 'tenant' })
      })
      last = ids.length
      after = ids.at(-1) ?? after
    }
  }
