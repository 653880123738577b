import { isoNow, type VendorActor } from '../../core/kit/index.ts'
import type { VendorItem } from '../../core/marketplace/index.ts'
import { recordAudit } from '../audit/index.ts'
import { announceItem } from './announce-item.ts'
import type { MarketplaceDeps } from './deps.ts'
import { replaceItem } from './items.repo.ts'
import { enqueueWithdrawal } from './mail-withdrawal.ts'
import { lockOwnItem, vendorItemView } from './vendor-account.ts'

/**
 * Withdraws an item: it is archived, and paid subscriptions end with their period, as the payments feature follows. Free installations stay. A repeated
 * call changes nothing. Only an operator can publish it again. Throws NOT_FOUND.
 */
export const withdrawItem = (deps: MarketplaceDeps, actor: VendorActor, { id }: Readonly<{ id: string }>): Promise<VendorItem> =>
  deps.db.transaction().execute(async (tx) => {
    const item = await lockOwnItem(tx, actor, id)
    if (item.withdrawnAt !== null) return vendorItemView(tx, item)
    const now = isoNow(deps.clock)
    const next = { ...item, status: 'archived' as const, withdrawnAt: now, updatedAt: now }
    await replaceItem(tx, next)
    await deps.payments.endsChanged(tx, { itemId: id })
    await announceItem(deps, tx, id)
    await enqueueWithdrawal(deps, tx, { itemId: id, withdrawnAt: now })
    const view = await vendorItemView(tx, next)
    const data = { itemId: id, slug: item.slug, vendorId: item.vendorId, installations: view.installations }
    await recordAudit(tx, deps.clock, { actor, action: 'marketplace.item-withdrawn', subject: item.slug, data })
    return view
  })
