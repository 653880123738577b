import { isoNow } from '../../core/kit/index.ts'
import { enqueueJob } from '../db/index.ts'
import type { ItemRecord } from '../marketplace/index.ts'
import { endSpan } from './billing/report-usage.ts'
import { cancellationTopic, endsTopic, enqueueCancellation } from './cancellation.ts'
import type { PaymentsDeps, Planned } from './deps.ts'
import { assertBuyable, installPaid } from './install-paid.ts'
import { priceTopic } from './prices.ts'
import { termsTopic } from './terms.ts'
import { vendorTopic } from './vendors.ts'

/** The work that the marketplace asks of payments: the functions with a transaction only enqueue jobs in it. */
export const paymentsOfMarketplace = (deps: PaymentsDeps) => ({
  currency: deps.currency,
  vendorCreated: (tx: Parameters<typeof enqueueJob>[0], { vendorId }: Readonly<{ vendorId: string }>) =>
    enqueueJob(tx, deps.clock, { topic: vendorTopic, payload: { id: vendorId }, queue: `payments:${vendorId}`, pool: 'payments' }),
  priceChanged: (tx: Parameters<typeof enqueueJob>[0], item: Readonly<{ itemId: string; former: string | null }>) =>
    enqueueJob(tx, deps.clock, { topic: priceTopic, payload: item, queue: `payments:${item.itemId}`, pool: 'payments' }),
  termsChanged: (tx: Parameters<typeof enqueueJob>[0], changed: Readonly<{ itemId: string } | { vendorId: string }>) =>
    enqueueJob(tx, deps.clock, { topic: termsTopic, payload: changed, pool: 'payments' }),
  endsChanged: (tx: Parameters<typeof enqueueJob>[0], changed: Readonly<{ itemId: string }>) =>
    enqueueJob(tx, deps.clock, { topic: endsTopic, payload: changed, pool: 'payments' }),
  assertBuyable: (tenant: Parameters<typeof assertBuyable>[1], item: Parameters<typeof assertBuyable>[2]) =>
    assertBuyable(deps, tenant, item),
  installPaid: (actor: Parameters<typeof installPaid>[1], item: ItemRecord, accepted: Planned = { modulePriceCents: null }) =>
    installPaid(deps, actor, { item, ...accepted }),
  cancelled: async (
    tx: Parameters<typeof enqueueJob>[0],
    { paymentSubscriptionId, paidUntil }: Readonly<{ paymentSubscriptionId: string | null; paidUntil: string | null }>,
  ) => {
    if (paymentSubscriptionId === null) return paidUntil
    await endSpan({ ...deps, tx }, { id: paymentSubscriptionId })
    await enqueueCancellation({ ...deps, tx }, { id: paymentSubscriptionId, topic: cancellationTopic })
    // The event of a new period may still come; the cancellation reads the period from the provider.
    return paidUntil !== null && paidUntil > isoNow(deps.clock) ? paidUntil : null
  },
})
