import { isoNow, problem } from '../../core/kit/index.ts'
import type { PriceModel } from '../../core/marketplace/index.ts'
import {
  type InstallStep,
  installKey,
  installSaga,
  isLive,
  isOfAttempt,
  isPaymentFailure,
  liveSubscriptionOf,
  metadataOf,
  type ProviderInvoice,
  type ProviderPrice,
  type ProviderSubscription,
  paymentStatusOf,
  usageAnchor,
} from '../../core/payments/index.ts'
import { foldSaga } from '../../core/saga/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { findItem, findSubscription, type ItemRecord, lockItem } from '../marketplace/index.ts'
import {
  assertActive,
  assertFormerPrice,
  assertModulePrice,
  assertStillSold,
  type InstallAttempt,
  mayHaveCharged,
  Refused,
  resultOf,
} from './agreement.ts'
import { installationRefunded } from './alerts.ts'
import { type Attempt, storeLink } from './attempts.repo.ts'
import { beginSpan } from './billing/plan-reports.ts'
import { enqueueCancellation, withdrawalTopic } from './cancellation.ts'
import type { InstalledPayment, PaymentsDeps } from './deps.ts'
import { tenantOfCustomer } from './follow-invoice.ts'
import { newlyRefunded } from './follow-refund.ts'
import { assertNothingOverdue } from './overdue.ts'
import { ensurePrice } from './prices.ts'
import { paymentOfItem, runAlone } from './run-alone.ts'
import { closeRejected } from './stuck-attempt.ts'
import { enqueueSubscriptionTerms, payoutOf } from './terms.ts'

const system = { kind: 'system', name: 'payments' } as const

type Acts = Readonly<Record<InstallStep, () => Promise<unknown>>>

/** The acts of each step of a paid installation. Each may run again after a kill at any point. */
export const actsOf = (deps: PaymentsDeps, given: InstallAttempt): Acts => ({
  check: () => {
    throw new Error('an attempt begins with the price that was agreed')
  },
  price: async () => {
    const price = await ensurePrice(deps, given.attempt.itemId)
    if (!price) throw new Refused(problem('CONFLICT', 'The item became free while it was installed. fix: repeat the request'))
    return { priceId: price.id }
  },
  charge: async () => {
    const charged = await runAlone(deps, paymentOfItem(given.attempt), () => charge(deps, given))
    return (
      charged ??
      Promise.reject(problem('PAYMENTS_UNAVAILABLE', 'The former payment for the item is being ended. fix: repeat the request later'))
    )
  },
  install: () => install(deps, given),
  cancel: () => cancel(deps, given),
  refund: () => refund(deps, given),
})

/** Errors that the provider saved for a key: each needs the next key. */
const savedErrors = ({ journal }: Pick<InstallAttempt, 'journal'>, step: InstallStep): number =>
  journal.filter((entry) => entry.step === step && entry.mark === 'failed' && (entry.data as { saved?: boolean }).saved).length

type Charged = Readonly<{ subscriptionId: string; isTakenBack: boolean }>

async function charge(deps: PaymentsDeps, given: InstallAttempt): Promise<Charged> {
  const { provider, db } = deps
  const { attempt } = given
  await assertActive(deps, attempt)
  const all = await subscriptionsOf(deps, attempt)
  const live = liveSubscriptionOf(all, attempt)
  if (live && isOfAttempt(live, attempt)) return { subscriptionId: live.id, isTakenBack: false }
  const item = (await findItem(db, attempt.itemId)) as ItemRecord
  // After a charge the step that installs refuses, and the payment is refunded.
  if (!mayHaveCharged(given)) assertModulePrice(given, { item, plan: await deps.bundles.plan(attempt, item) })
  if (live) return takeBack(deps, given, { live, item })
  const price = (await provider.getPrice(resultOf<{ priceId: string }>(given, 'price').priceId)) as ProviderPrice
  await assertStillSold(deps, given, { item, price })
  await assertNothingOverdue(deps, given)
  // A subscription of this attempt that was deleted at the provider: its key would return it again.
  const n = savedErrors(given, 'charge') + all.filter((one) => isOfAttempt(one, attempt)).length
  given.charging()
  try {
    const created = await provider.createSubscription({
      key: installKey(attempt.id, 'charge', n),
      customerId: attempt.customerId,
      priceId: price.id,
      metered: price.meterId !== null,
      payout: await payoutOf(db, item),
      anchor: price.meterId === null ? null : usageAnchor,
      description: item.name,
      metadata: metadataOf(attempt),
    })
    return { subscriptionId: created.id, isTakenBack: false }
  } catch (error) {
    throw isPaymentFailure(error) && !error.isTransient ? new Refused(error) : error
  }
}

/** Those of the customer, and that of the former installation, which a former customer of the tenant may pay. */
async function subscriptionsOf(
  { provider, db }: PaymentsDeps,
  { tenantId, itemId, customerId }: Attempt,
): Promise<readonly ProviderSubscription[]> {
  const all = await provider.listSubscriptions(customerId)
  const formerId = (await findSubscription(db, { tenantId, itemId }))?.paymentSubscriptionId
  if (!formerId || all.some(({ id }) => id === formerId)) return all
  const former = await provider.getSubscription(formerId)
  const payer = former && (await tenantOfCustomer(db, former.customerId))
  // The customer may belong to another tenant now, which is not charged for this one.
  return former && (!payer || payer.id === tenantId) ? [...all, former] : all
}

/** The tenant uninstalled the item and its period has not ended: the same subscription continues, without a charge. */
async function takeBack(
  deps: PaymentsDeps,
  given: InstallAttempt,
  { live, item }: Readonly<{ live: ProviderSubscription; item: ItemRecord }>,
): Promise<Charged> {
  const { provider, db, clock } = deps
  const key = `${installKey(given.attempt.id, 'charge', savedErrors(given, 'charge'))}:resume:${isoNow(clock)}`
  await assertFormerPrice(deps, given, { item, live, price: await provider.getPrice(live.priceId) })
  given.charging()
  await provider.updateSubscription({ key, id: live.id, cancelAtPeriodEnd: false, payout: live.isTaxed ? null : await payoutOf(db, item) })
  return { subscriptionId: live.id, isTakenBack: true }
}

async function install(deps: PaymentsDeps, given: InstallAttempt) {
  const { db, bundles, clock } = deps
  const { attempt, actor, finish } = given
  const { tenantId, itemId } = attempt
  await assertActive(deps, attempt)
  const { subscriptionId } = resultOf<Charged>(given, 'charge')
  const payment = await paymentOf(deps, subscriptionId)
  const item = (await findItem(db, itemId)) as ItemRecord
  const plan = await bundles.plan({ tenantId }, item)
  assertModulePrice(given, { item, plan })
  return db.transaction().execute(async (tx) => {
    await finish(tx)
    // A withdrawal since the charge found no subscription to end; one after this transaction finds it.
    const isWithdrawn = (await lockItem(tx, itemId))?.withdrawnAt !== null
    if (isWithdrawn) await enqueueCancellation({ clock, tx }, { id: subscriptionId, topic: withdrawalTopic })
    await closeRejected(tx, { clock }, attempt)
    // A vendor or a fee that changed since the charge found no subscription to send it for.
    await enqueueSubscriptionTerms({ clock, tx }, subscriptionId)
    await storeLink(tx, { paymentSubscriptionId: subscriptionId, tenantId, itemId, createdAt: isoNow(clock) })
    const { columns, ...price } = payment
    await beginSpan(tx, { ...price, paymentSubscriptionId: subscriptionId, tenantId, itemId, fromAt: isoNow(clock) })
    return bundles.store(tx, { actor, item, plan, payment: columns })
  })
}

type Paid = Readonly<{ customerId: string; priceModel: PriceModel; unitCents: number; currency: string; columns: InstalledPayment }>

/** The price of the subscription: one that was taken back keeps its former price. */
async function paymentOf({ provider }: PaymentsDeps, subscriptionId: string): Promise<Paid> {
  const subscription = await provider.getSubscription(subscriptionId)
  const price = subscription && (await provider.getPrice(subscription.priceId))
  if (!subscription || !price)
    throw problem('PAYMENTS_UNAVAILABLE', 'The payment provider does not know the subscription yet. fix: repeat the request')
  if (!isLive(subscription))
    throw new Refused(
      problem('CONFLICT', 'The subscription was ended at the payment provider while the item was installed. fix: install it again'),
    )
  const { cents: unitCents, currency } = price.unit
  const priceModel: PriceModel = price.meterId === null ? 'flat-monthly' : 'per-active-user'
  const paid = { paymentStatus: paymentStatusOf(subscription), paidUntil: subscription.currentPeriodEnd }
  const ids = { paymentPriceId: price.id, paymentSubscriptionId: subscription.id, paymentSubscriptionItemId: subscription.itemId }
  return {
    customerId: subscription.customerId,
    priceModel,
    unitCents,
    currency,
    columns: { priceModel, priceCents: unitCents, currency, ...paid, ...ids },
  }
}

/** Ends at once what this attempt created, and lets what it took back end with its period. */
async function cancel(deps: PaymentsDeps, given: InstallAttempt): Promise<null> {
  const { provider, clock } = deps
  const { attempt } = given
  const all = await subscriptionsOf(deps, attempt)
  const key = `${installKey(attempt.id, 'cancel', savedErrors(given, 'cancel'))}:${isoNow(clock)}`
  for (const one of all.filter((sub) => isOfAttempt(sub, attempt) && isLive(sub)))
    await provider.cancelSubscription({ key: `${key}:${one.id}`, id: one.id })
  const takenBack = liveSubscriptionOf(all, attempt)
  if (takenBack && !isOfAttempt(takenBack, attempt) && !takenBack.cancelAtPeriodEnd)
    await provider.updateSubscription({ key: `${key}:${takenBack.id}`, id: takenBack.id, cancelAtPeriodEnd: true })
  return null
}

type Refunded = Pick<InstallAttempt, 'attempt' | 'actor' | 'journal'>

/** Pays back every invoice of what this attempt created; it takes the share of the vendor and the fee back. */
export async function refund({ db, clock, provider }: PaymentsDeps, given: Refunded): Promise<Readonly<{ refundedCents: number }>> {
  const { attempt, actor } = given
  const n = savedErrors(given, 'refund')
  const refunded: Pick<ProviderInvoice, 'id' | 'refundedCents'>[] = []
  for (const one of (await provider.listSubscriptions(attempt.customerId)).filter((sub) => isOfAttempt(sub, attempt)))
    for (const invoice of await provider.listInvoices({ customerId: attempt.customerId, subscriptionId: one.id })) {
      // A refusal is saved for its key: a later hour asks again. What was refunded is not refunded again.
      const key = `${installKey(attempt.id, 'refund', n)}:${invoice.id}:${isoNow(clock).slice(0, 13)}`
      if (invoice.status !== 'paid') await provider.voidInvoice({ key, invoiceId: invoice.id })
      else {
        await provider.refundInvoice({ key, invoiceId: invoice.id })
        const found = await provider.getInvoice(invoice.id)
        if (found) refunded.push(found)
      }
    }
  const refundedCents = refunded.reduce((sum, one) => sum + one.refundedCents, 0)
  if (refundedCents > 0)
    await db.transaction().execute(async (tx) => {
      // A process that was killed after the refund has recorded nothing; one that has recorded it is not recorded again.
      let newCents = 0
      for (const one of refunded) newCents += await newlyRefunded(tx, clock, one)
      if (newCents <= 0) return
      const item = await findItem(tx, attempt.itemId)
      const reason = foldSaga(installSaga, given.journal).failure?.message ?? 'unknown'
      const facts = { slug: actor.tenantSlug, itemName: item?.name ?? attempt.itemId, attemptId: attempt.id, reason, refundedCents }
      await raiseAlert(tx, clock, installationRefunded({ ...facts, refunded: { cents: refundedCents, currency: item?.currency ?? '' } }))
      await recordAudit(tx, clock, { actor: system, action: 'payment.refunded', subject: actor.tenantSlug, data: facts })
    })
  return { refundedCents }
}
