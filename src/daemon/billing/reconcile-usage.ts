import { acceptFix, type Difference, difference, monthBefore, monthOf, sharesOf } from '../../core/billing/index.ts'
import { isoIn, isoNow } from '../../core/kit/index.ts'
import { type ListedInvoice, moneyText, type ProviderInvoice } from '../../core/payments/index.ts'
import type { TenantRecord } from '../tenants/index.ts'
import { usageCents } from './claim-usage.ts'
import type { BillingDeps } from './deps.ts'
import type { ModuleUsageRow } from './module-usage.repo.ts'
import { isWaived } from './plan-reports.ts'
import { monthsBack } from './read-invoices.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider'>

/** Users that were reported against what final invoices charge for them. */
export async function ofUsage(
  { db, clock, provider }: Deps,
  { id, slug }: TenantRecord,
  invoices: readonly ListedInvoice[],
): Promise<Difference[]> {
  const reports = await db.selectFrom('billing_reports').selectAll().where('tenant_id', '=', id).execute()
  const found = reports
    .filter(
      ({ sent_at, reason, created_at }) => sent_at === null && reason === null && Date.parse(created_at) < clock.now().getTime() - dayMs,
    )
    .map((row) =>
      difference(
        'usage_not_sent',
        { subject: slug, id: row.id },
        {
          ...{ here: `${row.quantity} users of ${row.month}, not sent since ${row.created_at}`, there: 'unknown' },
          fix: `tenantry crons run marketplace-monthly-billing; if it cannot be sent, ${acceptFix('usage_not_sent', row.id, slug)}`,
        },
      ),
    )
  for (const invoice of invoices) {
    if (invoice.finalizedAt === null || invoice.status === 'void' || invoice.createdAt < invoice.periodEnd) continue
    const own = reports.filter(
      (row) =>
        row.payment_subscription_id === invoice.subscriptionId &&
        row.sent_at !== null &&
        !isWaived(row) &&
        row.event_at >= invoice.periodStart &&
        row.event_at < invoice.periodEnd,
    )
    const owed = own.reduce((sum, row) => sum + row.quantity * row.unit_cents - row.claimed_cents, 0)
    const charged = usageCents(invoice)
    if (own.length === 0 || owed === charged) continue
    const refundedCents = charged > owed ? ((await provider.getInvoice(invoice.id))?.refundedCents ?? 0) : 0
    if (owed > charged || refundedCents < charged - owed)
      found.push(
        difference(
          'usage_not_invoiced',
          { subject: slug, id: invoice.id },
          {
            here: `${own.map(({ quantity, month }) => `${quantity} users of ${month}`).join(', ')}: ${moneyText({ ...invoice.total, cents: owed })}`,
            there: moneyText({ ...invoice.total, cents: charged }),
            fix:
              owed > charged
                ? `add an invoice item in the Dashboard of the provider, then ${acceptFix('usage_not_invoiced', invoice.id, slug)}`
                : 'refund the difference in the Dashboard of the provider',
          },
        ),
      )
  }
  return found
}

const dayMs = 86_400_000

/** Modules that were priced and not billed within a day: the job that bills them has stopped. */
export async function ofPlanned({ db, clock }: Deps, { id, slug }: TenantRecord): Promise<Difference[]> {
  const rows = await db
    .selectFrom('billing_usage')
    .select(['id', 'module_id', 'month', 'price_cents', 'currency', 'created_at'])
    .where('tenant_id', '=', id)
    .where('state', '=', 'planned')
    .where('created_at', '<', isoIn(clock, -dayMs))
    .orderBy('id')
    .execute()
  return rows.map((row) =>
    difference(
      'module_not_billed',
      { subject: slug, id: row.id },
      {
        here: `${row.module_id} in ${row.month}: ${moneyText({ cents: row.price_cents, currency: row.currency })}, not billed since ${row.created_at}`,
        ...{ there: 'no invoice', fix: 'tenantry crons run billing-usage-aggregation' },
      },
    ),
  )
}

/** Modules that were billed against the lines of their invoices. */
export async function ofModules(
  { db, clock, provider }: Deps,
  { id, slug }: TenantRecord,
  invoices: readonly ListedInvoice[],
): Promise<Difference[]> {
  const rows = await db
    .selectFrom('billing_usage as u')
    .leftJoin('billing_payouts as p', 'p.id', 'u.payout_id')
    .selectAll('u')
    .select('p.state as payout_state')
    .where('u.tenant_id', '=', id)
    .where('u.state', 'in', ['billed', 'paid', 'refunded', 'void'])
    .orderBy('u.id')
    .execute()
  const byId = new Map(invoices.map((one) => [one.id, one]))
  // One call each, and refunds and disputes of older ones are applied by their events.
  const since = monthBefore(monthOf(isoNow(clock)), monthsBack)
  const inFull = new Map<string, ProviderInvoice | null>()
  const found: Difference[] = []
  for (const row of rows) {
    const invoice = byId.get(row.invoice_id ?? '') ?? (row.invoice_id ? await provider.getInvoice(row.invoice_id) : null)
    const line = invoice?.lines.find(({ invoiceItemId }) => invoiceItemId === row.invoice_item_id)
    // An operator who voids an invoice waives its modules.
    if (invoice?.status === 'void' && row.state === 'void') continue
    const here = `${row.module_id} in ${row.month}: ${moneyText({ cents: row.price_cents, currency: row.currency })}`
    if (!invoice || invoice.status === 'void' || (line && line.cents !== row.price_cents) || (!line && invoice.lines.length < 10))
      found.push(
        difference(
          'module_not_invoiced',
          { subject: slug, id: row.id },
          {
            ...{
              here,
              there: invoice
                ? line
                  ? moneyText({ cents: line.cents, currency: row.currency })
                  : `not on ${invoice.id} (${invoice.status})`
                : 'no invoice',
            },
            fix:
              invoice?.status === 'void'
                ? 'tenantry crons run billing-developer-payouts, which reads that the invoice was voided'
                : `add an invoice item in the Dashboard of the provider, then ${acceptFix('module_not_invoiced', row.id, slug)}`,
          },
        ),
      )
    else if (row.payout_state !== null && row.payout_state !== 'waiting' && row.month >= since) {
      const full = inFull.get(invoice.id) ?? (await provider.getInvoice(invoice.id))
      inFull.set(invoice.id, full)
      if (full) found.push(...ofRefund(slug, { row, rows, invoice: full, here }))
    }
  }
  return found
}

/** The fix for each state of an invoice; none for one that is not collected. */
const waivedFixes: Partial<Record<ListedInvoice['status'], string>> = {
  draft: 'delete its invoice items and the draft in the Dashboard of the provider',
  open: 'void it in the Dashboard of the provider',
  paid: 'refund it in the Dashboard of the provider',
}

/** Modules that were waived after their invoice was refused: it stays at the provider, where it could still be finalised. */
export async function ofWaived(
  { db }: Pick<Deps, 'db'>,
  { id, slug }: TenantRecord,
  invoices: readonly ListedInvoice[],
): Promise<Difference[]> {
  const rows = await db.selectFrom('billing_usage').select(['month', 'state', 'invoice_id']).where('tenant_id', '=', id).execute()
  const months = new Set(rows.filter(({ state }) => state === 'waived').map(({ month }) => month))
  const billed = new Set(rows.map(({ invoice_id }) => invoice_id))
  return [...months].sort().flatMap((month) =>
    invoices
      .filter((one) => one.metadata.svc_modules === `${id}:${month}` && !billed.has(one.id) && waivedFixes[one.status])
      .map((invoice) =>
        difference(
          'module_waived',
          { subject: slug, id: invoice.id },
          {
            ...{ here: `modules of ${month} are waived`, there: `${invoice.status} invoice of ${moneyText(invoice.total)}` },
            fix: `${waivedFixes[invoice.status]}, or ${acceptFix('module_waived', invoice.id, slug)}`,
          },
        ),
      ),
  )
}

type Row = ModuleUsageRow & Readonly<{ payout_state: string | null }>
type Paid = Readonly<{ row: Row; rows: readonly Row[]; invoice: ProviderInvoice; here: string }>

/** A refund that no statement has deducted yet, or a dispute of a payment that a statement has. */
function ofRefund(subject: string, { row, rows, invoice, here }: Paid): Difference[] {
  const alike = rows.filter(({ invoice_id }) => invoice_id === row.invoice_id)
  const shares = sharesOf(
    invoice,
    alike.map(({ id, price_cents: priceCents }) => ({ id, priceCents })),
  )
  const isUnread = shares.find(({ id }) => id === row.id)?.refundedCents !== row.refunded_cents
  if (!isUnread && !invoice.isDisputed) return []
  const there = invoice.isDisputed ? 'disputed' : `${moneyText({ cents: invoice.refundedCents, currency: row.currency })} refunded`
  const fix = invoice.isDisputed
    ? `take the share of the developer back by hand, then ${acceptFix('module_refunded', row.id, subject)}`
    : 'tenantry crons run billing-developer-payouts, which deducts it from the next statement'
  return [difference('module_refunded', { subject, id: row.id }, { here: `${here}, in the statement ${row.payout_id}`, there, fix })]
}
