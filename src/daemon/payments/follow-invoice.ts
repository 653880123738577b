import { alertOf, paymentFailedKey } from '../../core/alerts/index.ts'
import type { ProviderInvoice } from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert, wasRaised } from '../alerts/index.ts'
import type { Tx } from '../db/index.ts'
import type { PaymentsDeps } from './deps.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'billing'>

/** The name of an invoice of its own, which no subscription has. */
export const nameOfInvoice = ({ metadata }: Pick<ProviderInvoice, 'metadata'>): string =>
  metadata.svc_modules === undefined ? 'usage' : 'modules'

export const tenantOfCustomer = (tx: Tx, customerId: string) =>
  tx.selectFrom('tenants').select(['id', 'slug']).where('payment_customer_id', '=', customerId).executeTakeFirst()

/** States in which nothing more is collected, and why an alert about the invoice closes. */
const ends: Partial<Record<ProviderInvoice['status'], string>> = {
  paid: 'the invoice was paid',
  void: 'the invoice was voided',
  uncollectible: 'the invoice was marked uncollectible',
}

/**
 * An invoice of its own, for modules or late usage: no subscription shows whether it is paid. An unpaid one raises an alert and mails the tenant, once
 * for each invoice.
 */
export const followUsage = (
  { db, clock, billing }: Deps,
  invoice: ProviderInvoice,
  { type }: Readonly<{ type: string }>,
): Promise<string> =>
  db.transaction().execute(async (tx) => {
    const { id, status, customerId, total } = invoice
    const tenant = await tenantOfCustomer(tx, customerId)
    const slug = tenant?.slug ?? 'billing'
    const key = paymentFailedKey(id)
    if ((type === 'invoice.payment_failed' || type === 'invoice.overdue') && status === 'open') {
      const itemName = nameOfInvoice(invoice)
      const isFirst = !(await wasRaised(tx, key))
      await raiseAlert(tx, clock, alertOf.payment_failed({ slug, itemName, invoiceId: id }))
      if (isFirst && tenant) await billing.invoiceFailed(tx, { tenantId: tenant.id, invoiceId: id, itemName, amount: total })
    }
    const over = ends[status]
    if (over) await closeAlerts(tx, clock, { subject: slug, keys: [key], because: over })
    return `the invoice is ${status}`
  })

/** Its tenant is charged only after somebody completes it at the provider. */
export const stuckInvoice = ({ db, clock }: Deps, { id, customerId }: ProviderInvoice): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const tenant = await tenantOfCustomer(tx, customerId)
    await raiseAlert(tx, clock, alertOf.invoice_stuck({ slug: tenant?.slug ?? 'billing', invoiceId: id }))
  })
