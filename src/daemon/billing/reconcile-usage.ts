import { type Difference, difference } from '../../core/billing/index.ts'
import { moneyText, type ProviderInvoice } from '../../core/payments/index.ts'
import type { TenantRecord } from '../tenants/index.ts'
import { usageCents } from './claim-usage.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider'>

/** Users that were reported against what final invoices charge for them. */
export async function ofUsage(
  { db, clock }: Deps,
  { id, slug }: TenantRecord,
  invoices: readonly ProviderInvoice[],
): Promise<Difference[]> {
  const reports = await db.selectFrom('billing_reports').selectAll().where('tenant_id', '=', id).execute()
  const found = reports
    .filter(({ sent_at, created_at }) => sent_at === null && Date.parse(created_at) < clock.now().getTime() - 86_400_000)
    .map((row) =>
      difference(
        'usage_not_sent',
        { subject: slug, id: row.id },
        {
          ...{ here: `${row.quantity} users of ${row.month}, not sent since ${row.created_at}`, there: 'unknown' },
          fix: 'tenantry crons run marketplace-monthly-billing',
        },
      ),
    )
  for (const invoice of invoices) {
    if (invoice.finalizedAt === null || invoice.status === 'void' || invoice.createdAt < invoice.periodEnd) continue
    const own = reports.filter(
      (row) =>
        row.payment_subscription_id === invoice.subscriptionId &&
        row.sent_at !== null &&
        row.event_at >= invoice.periodStart &&
        row.event_at < invoice.periodEnd,
    )
    const owed = own.reduce((sum, row) => sum + row.quantity * row.unit_cents - row.claimed_cents, 0)
    const charged = usageCents(invoice)
    if (own.length > 0 && owed !== charged)
      found.push(
        difference(
          'usage_not_invoiced',
          { subject: slug, id: invoice.id },
          {
            here: `${own.map(({ quantity, month }) => `${quantity} users of ${month}`).join(', ')}: ${moneyText({ ...invoice.total, cents: owed })}`,
            there: moneyText({ ...invoice.total, cents: charged }),
            fix:
              owed > charged
                ? 'add an invoice item in the Dashboard of the provider'
                : 'refund the difference in the Dashboard of the provider',
          },
        ),
      )
  }
  return found
}

/** Modules that were billed against the lines of their invoices. */
export async function ofModules(
  { db, provider }: Deps,
  { id, slug }: TenantRecord,
  invoices: readonly ProviderInvoice[],
): Promise<Difference[]> {
  const rows = await db
    .selectFrom('billing_usage as u')
    .leftJoin('billing_payouts as p', 'p.id', 'u.payout_id')
    .selectAll('u')
    .select('p.state as payout_state')
    .where('u.tenant_id', '=', id)
    .where('u.state', 'in', ['billed', 'paid', 'refunded'])
    .execute()
  const byId = new Map(invoices.map((one) => [one.id, one]))
  const found: Difference[] = []
  for (const row of rows) {
    const invoice = byId.get(row.invoice_id ?? '') ?? (row.invoice_id ? await provider.getInvoice(row.invoice_id) : null)
    const line = invoice?.lines.find(({ invoiceItemId }) => invoiceItemId === row.invoice_item_id)
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
            fix: 'add an invoice item in the Dashboard of the provider',
          },
        ),
      )
    else if ((invoice.refundedCents > 0 || invoice.isDisputed) && row.payout_state !== null && row.payout_state !== 'waiting')
      found.push(
        difference(
          'module_refunded',
          { subject: slug, id: row.id },
          {
            ...{
              here: `${here}, in the statement ${row.payout_id}`,
              there: invoice.isDisputed ? 'disputed' : `${moneyText({ cents: invoice.refundedCents, currency: row.currency })} refunded`,
            },
            fix: 'take the share of the developer back, or deduct it by hand',
          },
        ),
      )
  }
  return found
}
