import { isoNow, problem } from '../../core/kit/index.ts'
import { assertVendorIsPayable, type InstallStep, type ProviderPrice, type ProviderSubscription } from '../../core/payments/index.ts'
import type { SagaEntry } from '../../core/saga/index.ts'
import type { Tx } from '../db/index.ts'
import {
  findVendor,
  type ItemRecord,
  isSamePrice,
  lockSubscription,
  type Price,
  type SubscriptionRecord,
  storeSubscription,
} from '../marketplace/index.ts'
import { tenantById } from '../tenants/index.ts'
import type { Attempt } from './attempts.repo.ts'
import type { Installer, PaymentsDeps, Planned } from './deps.ts'
import { assertVendorGetsNoTax } from './terms.ts'

/** The provider refuses the installation for good: nothing is retried. */
export class Refused extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('refused')
    this.reason = reason
  }
}

/** One attempt in the hands of one process. */
export type InstallAttempt = Readonly<{
  attempt: Attempt
  actor: Installer
  journal: readonly SagaEntry[]
  /** Ends the attempt in the transaction of the installation. */
  finish(tx: Tx): Promise<void>
  /** Called before a request that charges: a failure after it may have charged. */
  charging(): void
}>
export const resultOf = <Value>({ journal }: InstallAttempt, step: InstallStep): Value =>
  journal.findLast((entry) => entry.step === step && entry.mark === 'done')?.data as Value

/** Since then an attempt only goes forward: a request that failed may have charged. */
export const mayHaveCharged = ({ journal }: InstallAttempt): boolean =>
  journal.some(({ step, mark, data }) => step === 'charge' && mark === 'failed' && (data as { sent?: boolean } | undefined)?.sent !== false)

const notTheAgreed = ({ name }: ItemRecord, why: string) =>
  new Refused(problem('CONFLICT', `${name} ${why} before it was paid; nothing was charged. fix: read the item and repeat the request`))

/**
 * The row of a former installation shows the price of the next one. Where the provider has another, the row follows before the refusal: the
 * repeated request is shown what it will pay.
 */
const correctRow = ({ db }: PaymentsDeps, { tenantId, itemId }: Attempt, change: Partial<SubscriptionRecord>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const row = await lockSubscription(tx, { tenantId, itemId })
    if (row?.status === 'cancelled') await storeSubscription(tx, { ...row, ...change })
  })

/** A charge may begin hours after the request, when the provider was away. */
export async function assertStillSold(
  deps: PaymentsDeps,
  given: InstallAttempt,
  { item, price }: Readonly<{ item: ItemRecord; price: ProviderPrice }>,
) {
  if (mayHaveCharged(given)) return
  if (item.status !== 'published') throw notTheAgreed(item, 'was withdrawn')
  if (!isAgreed(given, item) || !isAgreed(given, priceOf(price))) {
    await correctRow(deps, given.attempt, { paidUntil: isoNow(deps.clock) })
    throw notTheAgreed(item, 'got another price')
  }
  const vendor = item.vendorId === null ? undefined : await findVendor(deps.db, { id: item.vendorId })
  try {
    if (vendor) assertVendorGetsNoTax(deps, vendor)
    if (vendor) assertVendorIsPayable({ ...vendor, accountStatus: vendor.paymentAccountStatus })
  } catch (error) {
    throw new Refused(error)
  }
}

/** An installation may wait for hours: its module is installed at the price that the user accepted, or not at all. */
export function assertModulePrice(given: InstallAttempt, { item, plan }: Readonly<{ item: ItemRecord; plan: Planned }>): void {
  if (resultOf<Planned>(given, 'check').modulePriceCents !== plan.modulePriceCents) throw new Refused(otherModulePrice(item))
}

export const otherModulePrice = ({ name }: ItemRecord) =>
  problem('CONFLICT', `The module of ${name} got another price before it was installed. fix: read the item and repeat the request`)

const priceOf = ({ unit, meterId }: ProviderPrice): Price => ({
  priceModel: meterId === null ? 'flat-monthly' : 'per-active-user',
  priceCents: unit.cents,
  currency: unit.currency,
})

const isAgreed = (given: InstallAttempt, price: Price): boolean => isSamePrice(resultOf<Price>(given, 'check'), price)

/** A tenant that is suspended or deleted buys nothing: what an earlier try charged is cancelled and refunded. */
export async function assertActive({ db }: PaymentsDeps, { tenantId }: Attempt): Promise<void> {
  const tenant = await tenantById(db, tenantId)
  if (tenant?.status === 'active') return
  const state = tenant
    ? `Tenant ${tenant.slug} is ${tenant.status === 'deleting' ? 'being deleted' : 'suspended'}`
    : 'The tenant was deleted'
  throw new Refused(problem('CONFLICT', `${state}, so nothing is bought for it. fix: resume the tenant, then repeat the request`))
}

type Former = Readonly<{ item: ItemRecord; live: ProviderSubscription; price: ProviderPrice | null }>

/**
 * A subscription that is taken back keeps its price, which the user may not have been shown. A free installation in between left no payment in the
 * row.
 */
export async function assertFormerPrice(deps: PaymentsDeps, given: InstallAttempt, { item, live, price }: Former): Promise<void> {
  if (!price || mayHaveCharged(given) || isAgreed(given, priceOf(price))) return
  const ids = { paymentPriceId: price.id, paymentSubscriptionId: live.id, paymentSubscriptionItemId: live.itemId }
  await correctRow(deps, given.attempt, { ...priceOf(price), ...ids, paidUntil: live.currentPeriodEnd })
  throw notTheAgreed(item, 'continues at its former price, which was not shown')
}
