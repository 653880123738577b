import { alertOf } from '../../core/alerts/index.ts'
import { missingCents } from '../../core/billing/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { isLive, type ProviderInvoice } from '../../core/payments/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { findItem } from '../marketplace/index.ts'
import { createOnce } from '../payments/index.ts'
import { tenantById } from '../tenants/index.ts'
import type { BillingDeps } from './deps.ts'
import type { ReportRow } from './report-usage.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider'>

const system = { kind: 'system', name: 'billing' } as const

/**
 * Charges usage whose invoice is final by an invoice item: what the reports of the period cost, less what the invoice has of them. False while the
 * invoice is a draft, which still takes reports.
 */
export async function claimUsage(deps: Deps, row: ReportRow): Promise<boolean> {
  const invoices = await deps.provider.listInvoices({ customerId: row.customer_id, subscriptionId: row.payment_subscription_id })
  const periods = invoices.filter(isOfPeriod)
  const own = periods.find(({ periodStart, periodEnd }) => row.event_at >= periodStart && row.event_at < periodEnd)
  if (own?.status === 'draft') return false
  const cents = await missingOf(deps, row, { own, periods })
  const item = cents > 0 ? await claim(deps, row, cents) : null
  await store(deps, row, { cents, item })
  return true
}

/** The first invoice of a subscription is made at the begin of its period, and has no usage. */
const isOfPeriod = ({ createdAt, periodEnd, status }: ProviderInvoice): boolean => createdAt >= periodEnd && status !== 'void'

type Found = Readonly<{ own: ProviderInvoice | undefined; periods: readonly ProviderInvoice[] }>

async function missingOf({ db }: Deps, row: ReportRow, { own, periods }: Found): Promise<number> {
  const reports = await db
    .selectFrom('billing_reports')
    .selectAll()
    .where('payment_subscription_id', '=', row.payment_subscription_id)
    .execute()
  // Without an invoice of its own the subscription was deleted: its usage since the last invoice is lost.
  const lastEnd =
    periods
      .map(({ periodEnd }) => periodEnd)
      .sort()
      .at(-1) ?? ''
  const isAlike = ({ event_at }: ReportRow) => (own ? event_at >= own.periodStart && event_at < own.periodEnd : event_at >= lastEnd)
  const alike = reports.filter(isAlike)
  return missingCents({
    owedCents: alike.reduce((sum, { quantity, unit_cents }) => sum + quantity * unit_cents, 0),
    invoicedCents: own ? usageCents(own) : 0,
    claimedCents: alike.reduce((sum, { claimed_cents }) => sum + claimed_cents, 0),
  })
}

/** The amount of an invoice for metered usage. */
export const usageCents = ({ lines }: ProviderInvoice): number =>
  lines.filter(({ invoiceItemId }) => invoiceItemId === null).reduce((sum, { cents }) => sum + cents, 0)

type Claimed = Readonly<{ invoiceItemId: string; invoiceId: string | null }>

/** The item on the next invoice of the subscription, or on an invoice of its own once that ended. Killed in between, it is found again. */
async function claim(deps: Deps, row: ReportRow, cents: number): Promise<Claimed> {
  const { provider } = deps
  const mark = `${row.id}:${row.revision}`
  const known = (await provider.listInvoiceItems(row.customer_id)).find(({ metadata }) => metadata.svc_report === mark)
  if (known) {
    if (known.invoiceId !== null) await finishOwn(deps, { invoiceId: known.invoiceId, mark })
    return { invoiceItemId: known.id, invoiceId: known.invoiceId }
  }
  const found = await provider.getSubscription(row.payment_subscription_id)
  const name = (await findItem(deps.db, row.item_id))?.name ?? row.item_id
  const input = {
    ...{ customerId: row.customer_id, amount: { cents, currency: row.currency } },
    ...{ description: `${name}: active users of ${row.month}`, metadata: { svc_kind: 'usage', svc_report: mark } },
  }
  const ownId = found && isLive(found) ? null : (await ownInvoice(deps, row, mark)).id
  const on = ownId === null ? { subscriptionId: row.payment_subscription_id } : { invoiceId: ownId }
  const item = await createOnce(
    `late:${mark}`,
    (key) => provider.createInvoiceItem({ key, ...input, on }),
    async () => (await provider.listInvoiceItems(row.customer_id)).find(({ metadata }) => metadata.svc_report === mark),
  )
  if (ownId !== null) await finishOwn(deps, { invoiceId: ownId, mark })
  return { invoiceItemId: item.id, invoiceId: ownId }
}

async function ownInvoice({ provider }: Deps, row: ReportRow, mark: string): Promise<ProviderInvoice> {
  const find = async () => (await provider.listInvoices({ customerId: row.customer_id })).find((one) => one.metadata.svc_report === mark)
  const metadata = { svc_kind: 'usage', svc_report: mark }
  const draft = { customerId: row.customer_id, currency: row.currency, description: `Usage of ${row.month}`, metadata }
  return (await find()) ?? (await createOnce(`late-invoice:${mark}`, (key) => provider.createInvoice({ key, ...draft }), find))
}

/** Only an invoice of its own: that of the subscription is finished by the provider. */
async function finishOwn({ provider }: Deps, { invoiceId, mark }: Readonly<{ invoiceId: string; mark: string }>): Promise<void> {
  const invoice = await provider.getInvoice(invoiceId)
  if (invoice?.metadata.svc_report === mark && invoice.status === 'draft')
    await provider.finishInvoice({ key: `late-finish:${mark}`, invoiceId })
}

type Stored = Readonly<{ cents: number; item: Claimed | null }>

const store = ({ db, clock }: Deps, row: ReportRow, { cents, item }: Stored): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const stored = await tx
      .updateTable('billing_reports')
      .set({
        ...{ sent_at: isoNow(clock), claimed_cents: row.claimed_cents + cents },
        ...(item ? { invoice_item_id: item.invoiceItemId, invoice_id: item.invoiceId } : {}),
      })
      .where('id', '=', row.id)
      .where('revision', '=', row.revision)
      .where('sent_at', 'is', null)
      .executeTakeFirst()
    if (stored.numUpdatedRows === 0n || !item) return
    const slug = (await tenantById(tx, row.tenant_id))?.slug ?? row.tenant_id
    const facts = { slug, month: row.month, cents, currency: row.currency, subscriptionId: row.payment_subscription_id }
    await raiseAlert(tx, clock, alertOf.usage_late({ ...facts, invoiceItemId: item.invoiceItemId }))
    await recordAudit(tx, clock, { actor: system, action: 'billing.usage-claimed', subject: slug, data: { ...facts, ...item } })
  })
