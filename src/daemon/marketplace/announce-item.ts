import { z } from 'zod'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { recordForTenants } from '../events/index.ts'
import { tenantIdsAfter } from '../tenants/index.ts'
import type { MarketplaceDeps } from './deps.ts'

/** Publishes a change of an item to all tenants. */
export const announceTopic = 'marketplace.announce'

export const announceItem = ({ clock }: Pick<MarketplaceDeps, 'clock'>, tx: Tx, itemId: string): Promise<void> =>
  enqueueJob(tx, clock, { topic: announceTopic, payload: { itemId }, key: itemId })

/** One event for each tenant. */
export const announce =
  (deps: Pick<MarketplaceDeps, 'db' | 'clock'>): JobHandler =>
  async (payload, { signal }) => {
    const { itemId } = z.object({ itemId: z.string() }).parse(payload)
    const eventsAfter = async (after: string, limit: number) =>
      (await tenantIdsAfter(deps.db, { after, limit })).map((tenantId) => ({
        tenantId,
        type: 'marketplace.item_changed' as const,
        payload: { itemId },
        audience: 'tenant' as const,
      }))
    await recordForTenants(deps, eventsAfter, signal)
  }
