import { isoNow, problem } from '../../core/kit/index.ts'
import { isLive, type ProviderSubscription } from '../../core/payments/index.ts'
import { type DbOrTx, enqueueJob, type JobHandler, type WithTx } from '../db/index.ts'
import { findItem, findSubscription, findVendor, type ItemRecord } from '../marketplace/index.ts'
import type { PaymentsDeps } from './deps.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'provider'>
type Changed = Readonly<{ itemId: string } | { vendorId: string }>

export const termsTopic = 'payments.terms'
export const subscriptionTermsTopic = 'payments.subscription-terms'

/** The account that is paid for an item, and the fee; null for an item without vendor. */
export async function payoutOf(db: DbOrTx, item: Pick<ItemRecord, 'vendorId'>) {
  const vendor = await vendorOf(db, item)
  if (!vendor?.paymentAccountId) return null
  return { destination: vendor.paymentAccountId, applicationFeePercent: vendor.applicationFeePercent }
}

const vendorOf = async (db: DbOrTx, { vendorId }: Pick<ItemRecord, 'vendorId'>) =>
  vendorId === null ? undefined : findVendor(db, { id: vendorId })

/**
 * The provider takes the share of a vendor from the total with tax, so it would get the tax that the platform owes. Throws PAYMENTS_UNAVAILABLE.
 */
export function assertVendorGetsNoTax({ automaticTax }: Pick<PaymentsDeps, 'automaticTax'>, { name }: Readonly<{ name: string }>): void {
  if (!automaticTax) return
  throw problem(
    'PAYMENTS_UNAVAILABLE',
    `Paid items of the vendor ${name} cannot be installed while the platform adds taxes (payments.automaticTax). ` +
      'fix: the operator turns it off, or sells the item without a vendor',
  )
}

export const enqueueSubscriptionTerms = ({ clock, tx }: WithTx<Pick<Deps, 'clock'>>, id: string): Promise<void> =>
  enqueueJob(tx, clock, { topic: subscriptionTermsTopic, payload: { id }, queue: `payments:${id}`, pool: 'payments' })

/** Enqueues one job for each live subscription of an item or a vendor: the list of jobs shows the progress. */
export const changeTerms =
  ({ db, clock }: Deps): JobHandler =>
  async (payload) => {
    const changed = payload as Changed
    const query = db
      .selectFrom('marketplace_subscriptions as s')
      .innerJoin('marketplace_items as i', 'i.id', 's.item_id')
      .select('s.payment_subscription_id as id')
      .where('s.payment_subscription_id', 'is not', null)
    const rows = await ('itemId' in changed
      ? query.where('i.id', '=', changed.itemId)
      : query.where('i.vendor_id', '=', changed.vendorId)
    ).execute()
    await db.transaction().execute(async (tx) => {
      for (const { id } of rows) if (id !== null) await enqueueSubscriptionTerms({ clock, tx }, id)
    })
  }

/** Sends the present vendor and fee of one subscription. */
export const changeSubscriptionTerms =
  ({ db, clock, provider }: Deps): JobHandler =>
  async (payload) => {
    const { id } = payload as { id: string }
    const row = await findSubscription(db, { paymentSubscriptionId: id })
    const item = row && (await findItem(db, row.itemId))
    const subscription = await provider.getSubscription(id)
    if (!item || !subscription || !isLive(subscription)) return
    const payout = await payoutOf(db, item)
    // The terms stay until the account of the vendor can receive transfers. With tax the platform alone is paid.
    const isPayable = item.vendorId === null || (await vendorOf(db, item))?.paymentAccountStatus === 'active'
    if (isSame(subscription, payout) || !isPayable || (subscription.isTaxed && payout !== null)) return
    const terms = `${payout?.destination ?? 'none'}:${payout?.applicationFeePercent ?? 0}`
    await provider.updateSubscription({ key: `terms:${id}:${terms}:${isoNow(clock)}`, id, payout })
  }

type Payout = Awaited<ReturnType<typeof payoutOf>>

const isSame = ({ destination, applicationFeePercent }: ProviderSubscription, payout: Payout): boolean =>
  destination === (payout?.destination ?? null) && applicationFeePercent === (payout?.applicationFeePercent ?? null)
