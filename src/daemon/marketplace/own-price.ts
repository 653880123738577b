import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { ItemRecord } from './items.repo.ts'
import type { SubscriptionRecord } from './subscriptions.repo.ts'

export type Price = Pick<ItemRecord, 'priceModel' | 'priceCents' | 'currency'>

export const isSamePrice = (one: Price, other: Price): boolean =>
  one.priceModel === other.priceModel && one.priceCents === other.priceCents && one.currency === other.currency

/** The price for this tenant: within the paid period of a former installation the same subscription continues, at its own price. */
export function priceFor(item: Price, own: SubscriptionRecord | undefined, clock: Clock): Price {
  const continues =
    own?.status === 'cancelled' && own.paymentSubscriptionId !== null && own.priceModel !== null && (own.paidUntil ?? '') > isoNow(clock)
  const { priceModel, priceCents, currency } = continues && item.priceModel !== null ? own : item
  return { priceModel, priceCents, currency }
}
