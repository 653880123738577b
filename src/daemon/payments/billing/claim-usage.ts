import { feeOf, missingCents } from '../../../core/billing/index.ts'
import { newId } from '../../../core/kit/index.ts'
import { isLive, type ListedInvoice, type ProviderInvoiceItem, type ProviderSubscription } from '../../../core/payments/index.ts'
import { acquireLease, type Lease, releaseLease, renewLease } from '../../db/index.ts'
import { findItem } from '../../marketplace/index.ts'
import { createOnce } from '../prices.ts'
import { finishDraft } from './bill-modules.ts'
import type { BillingDeps } from './deps.ts'
import { isWaived, type ReportRow } from './plan-reports.ts'
import { type Claimed, storeClaim } from './store-claim.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider'>

/** Longer than the calls of one claim may take. */
const leaseMs = 5 * 60_000

/**
 * Charges usage whose invoice is final by an invoice item: what the reports of the period cost, less what the invoice has of them. False while the
 * invoice is a draft, which still takes reports. The amount depends on what was claimed before, so one process claims for a subscription at a time.
 */
export async function claimUsage(deps: Deps, { id, revision, payment_subscription_id: subscription }: ReportRow): Promise<boolean> {
  const lease = await acquireLease(deps, { name: `billing-claim:${subscription}`, owner: newId(deps.random, 'clm'), ttlMs: leaseMs })
  if (!lease) throw new Error('another process charges usage of the subscription')
  try {
    const row = await deps.db
      .selectFrom('billing_reports')
      .selectAll()
      .where('id', '=', id)
      .where('revision', '=', revision)
      .where('sent_at', 'is', null)
      .executeTakeFirst()
    return row ? await claimMissing(deps, row, lease) : true
  } finally {
    await releaseLease(deps, lease)
  }
}

async function claimMissing(deps: Deps, row: ReportRow, lease: Lease): Promise<boolean> {
  const invoices = await deps.provider.listInvoices({ customerId: row.customer_id, subscriptionId: row.payment_subscription_id })
  const periods = invoices.filter(isOfPeriod)
  const ofPeriod = periods.filter(({ periodStart, periodEnd }) => row.event_at >= periodStart && row.event_at < periodEnd)
  const own = ofPeriod.find(({ status }) => status !== 'void')
  if (own?.status === 'draft') return false
  // An operator who voids an invoice waives its period.
  const isWaived = own === undefined && ofPeriod.length > 0
  const found = await deps.provider.getSubscription(row.payment_subscription_id)
  const reports = await reportsOf(deps, row)
  const listed = (await deps.provider.listInvoiceItems(row.customer_id)).filter((item) => reports.some((one) => isItemOf(item, one)))
  const isOver = found === null || !isLive(found)
  const waiting = isOver ? listed.filter(({ invoiceId }) => invoiceId === null) : []
  // No invoice of the subscription takes them any more. Their users are charged again, on an invoice of its own.
  for (const { id } of waiting) await deps.provider.deleteInvoiceItem(id)
  const items = listed.filter((item) => !waiting.includes(item))
  const known = items.find(({ metadata }) => metadata.svc_report === markOf(row))
  const cents = known?.amount.cents ?? (isWaived ? 0 : missingOf({ own, invoices, items, reports, isOver }))
  if (!(await renewLease(deps, lease, leaseMs))) throw new Error('the claim took too long and is repeated')
  const item = cents > 0 ? await claim(deps, row, { cents, known, found }) : null
  const before = isOver ? itemCents(items, row) - (known?.amount.cents ?? 0) : row.claimed_cents
  const former = isOver ? items.find(({ id }) => id === row.invoice_item_id) : null
  await storeClaim(deps, row, { cents, item, before, former, deleted: waiting })
  return true
}

const reportsOf = ({ db }: Deps, { payment_subscription_id: id }: ReportRow): Promise<ReportRow[]> =>
  db.selectFrom('billing_reports').selectAll().where('payment_subscription_id', '=', id).execute()

/** The first invoice of a subscription is made at the begin of its period, and has no usage. */
const isOfPeriod = ({ createdAt, periodEnd }: ListedInvoice): boolean => createdAt >= periodEnd

/** The time from which no invoice of a subscription has usage. */
export const lastEndOf = (invoices: readonly ListedInvoice[]): string =>
  invoices
    .filter(isOfPeriod)
    .map(({ periodEnd }) => periodEnd)
    .sort()
    .at(-1) ?? ''

/**
 * Usage after that on an invoice that ends no period: somebody cancelled the subscription and had it invoiced at once. An operator who voids that
 * invoice waives its usage.
 */
export const usageBesides = (invoices: readonly ListedInvoice[]): number =>
  invoices.filter((one) => !isOfPeriod(one)).reduce((sum, one) => sum + usageCents(one), 0)

/** The item of a report: a process that was killed before it stored the claim finds it again. */
const markOf = ({ id, revision }: ReportRow): string => `${id}:${revision}`

const isItemOf = ({ metadata }: ProviderInvoiceItem, { id }: ReportRow): boolean => metadata.svc_report?.startsWith(`${id}:`) === true

/** `isOver`: the subscription has ended. Then a claim counts only if its item is on an invoice; before, also one whose item is not listed yet. */
type Found = Readonly<{
  own: ListedInvoice | undefined
  invoices: readonly ListedInvoice[]
  items: readonly ProviderInvoiceItem[]
  reports: readonly ReportRow[]
  isOver: boolean
}>

function missingOf({ own, invoices, items, reports, isOver }: Found): number {
  // Without an invoice of its own the subscription was deleted: its usage since the last invoice is lost.
  const lastEnd = lastEndOf(invoices)
  const isAlike = ({ event_at }: ReportRow) => (own ? event_at >= own.periodStart && event_at < own.periodEnd : event_at >= lastEnd)
  const alike = reports.filter((one) => isAlike(one) && !isWaived(one))
  return missingCents({
    owedCents: alike.reduce((sum, { quantity, unit_cents }) => sum + quantity * unit_cents, 0),
    invoicedCents: own ? usageCents(own) : usageBesides(invoices),
    claimedCents: alike.reduce((sum, one) => sum + Math.max(isOver ? 0 : one.claimed_cents, itemCents(items, one)), 0),
  })
}

/** Claims of a report at the provider, stored here or not. */
const itemCents = (items: readonly ProviderInvoiceItem[], row: ReportRow): number =>
  items.filter((item) => isItemOf(item, row)).reduce((sum, { amount }) => sum + amount.cents, 0)

/** The amount of an invoice for metered usage. */
export const usageCents = ({ lines }: Pick<ListedInvoice, 'lines'>): number =>
  lines.filter(({ invoiceItemId }) => invoiceItemId === null).reduce((sum, { cents }) => sum + cents, 0)

type Due = Readonly<{ cents: number; known: ProviderInvoiceItem | undefined; found: ProviderSubscription | null }>

/** The item on the next invoice of the subscription, or on an invoice of its own once that ended. Killed in between, it is found again. */
async function claim(deps: Deps, row: ReportRow, { cents, known, found }: Due): Promise<Claimed> {
  const { provider } = deps
  const mark = markOf(row)
  if (known) {
    if (known.invoiceId !== null) await finishOwn(deps, { invoiceId: known.invoiceId, mark })
    return { invoiceItemId: known.id, invoiceId: known.invoiceId }
  }
  const name = (await findItem(deps.db, row.item_id))?.name ?? row.item_id
  const input = {
    ...{ customerId: row.customer_id, amount: { cents, currency: row.currency } },
    ...{ description: `${name}: active users of ${row.month}`, metadata: { svc_kind: 'usage', svc_report: mark } },
  }
  const ownId = found && isLive(found) ? null : (await ownInvoice(deps, row, { mark, payout: await payoutOn(deps, { cents, found }) })).id
  const on = ownId === null ? { subscriptionId: row.payment_subscription_id } : { invoiceId: ownId }
  const item = await createOnce(
    // The place is part of the key: the subscription may end before the call is repeated, and then takes no late one.
    `late:${mark}:${ownId ?? row.payment_subscription_id}`,
    (key) => provider.createInvoiceItem({ key, ...input, on }),
    async () => (await provider.listInvoiceItems(row.customer_id)).find(({ metadata }) => metadata.svc_report === mark),
  )
  if (ownId !== null) await finishOwn(deps, { invoiceId: ownId, mark })
  return { invoiceItemId: item.id, invoiceId: ownId }
}

type Payout = Readonly<{ destination: string; feeCents: number }>

/** The share of the vendor by the terms of the ended subscription. The platform keeps the payment while the account cannot receive transfers. */
async function payoutOn(
  { provider }: Deps,
  { cents, found }: Readonly<{ cents: number; found: ProviderSubscription | null }>,
): Promise<Payout | undefined> {
  if (!found?.destination) return undefined
  if (!(await provider.getAccount(found.destination))?.transfersEnabled) return undefined
  return { destination: found.destination, feeCents: feeOf(cents, found.applicationFeePercent ?? 0) }
}

type Own = Readonly<{ mark: string; payout: Payout | undefined }>

/** The payout is part of the key: it may differ when the call is repeated, and a key is refused with other parameters. */
async function ownInvoice({ provider }: Deps, row: ReportRow, { mark, payout }: Own): Promise<ListedInvoice> {
  // The oldest: a call that arrives after its repetition leaves a draft without items, which is never charged.
  const find = async () =>
    (await provider.listInvoices({ customerId: row.customer_id })).findLast((one) => one.metadata.svc_report === mark)
  const metadata = { svc_kind: 'usage', svc_report: mark }
  const draft = { customerId: row.customer_id, currency: row.currency, description: `Usage of ${row.month}`, metadata, payout }
  const key = `late-invoice:${mark}:${payout ? `${payout.destination}:${payout.feeCents}` : 'platform'}`
  return (await find()) ?? (await createOnce(key, (one) => provider.createInvoice({ key: one, ...draft }), find))
}

/** Only an invoice of its own: that of the subscription is finished by the provider. */
async function finishOwn(deps: Deps, { invoiceId, mark }: Readonly<{ invoiceId: string; mark: string }>): Promise<void> {
  const invoice = await deps.provider.getInvoice(invoiceId)
  if (invoice?.metadata.svc_report === mark && invoice.status === 'draft') await finishDraft(deps, invoiceId)
}
