import { z } from 'zod'
import { invoiceFailedMail, paymentFailedMail } from '../../core/billing/index.ts'
import { isoIn, isoNow, newId } from '../../core/kit/index.ts'
import type { ProviderInvoice, ProviderSubscription } from '../../core/payments/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { findItem } from '../marketplace/index.ts'
import type { BillingHooks } from '../payments/index.ts'
import { tenantById } from '../tenants/index.ts'
import { billsUrlOf } from './bills-url.ts'
import type { BillingDeps } from './deps.ts'
import { beginSpan } from './plan-reports.ts'
import { followPlan } from './plans.ts'
import { applyInvoice } from './read-invoices.ts'
import { reportTopic } from './report-usage.ts'
import { closeSpan } from './spans.repo.ts'

export const invoiceMailTopic = 'billing.invoice-mail'
export const paymentMailTopic = 'billing.payment-mail'

/** The end may be reported before the last invoice is listed, and that is final about an hour later. Usage that it has is not charged again. */
const lastInvoiceMs = 2 * 60 * 60_000

/** Takes what payments reports, in the transaction of the change. */
export const billingHooks = ({ db, clock, random, provider }: Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider'>): BillingHooks => ({
  installed: (tx, span) => beginSpan(tx, { ...span, fromAt: isoNow(clock) }),
  ended: async (tx: Tx, { id, isOver = false }) => {
    const isClosed = await closeSpan(tx, { id, at: isoNow(clock) })
    if (isClosed || isOver)
      await enqueueJob(tx, clock, {
        ...{ topic: reportTopic, payload: { id, isOver }, queue: `payments:${id}`, pool: 'payments' },
        ...(isOver && { runAt: isoIn(clock, lastInvoiceMs) }),
      })
  },
  paymentFailed: mailFailure({ clock, random }),
  invoiceFailed: async (tx, { amount, ...failed }) => {
    const payload = { id: newId(random, 'pml'), ...failed, ...amount }
    await enqueueJob(tx, clock, { topic: invoiceMailTopic, payload, pool: 'mail' })
  },
  refunded: (tx, invoice) => applyInvoice({ db: tx, clock }, invoice),
  tenantOf,
  planChanged: (found: ProviderSubscription) => followPlan({ db, clock, provider, paymentFailed: mailFailure({ clock, random }) }, found),
})

/** The metadata that `bill-modules.ts` and `claim-usage.ts` give an invoice. */
async function tenantOf(tx: Tx, { svc_modules: modules, svc_report: report }: ProviderInvoice['metadata']): Promise<string | null> {
  if (modules !== undefined) return modules.split(':')[0] ?? null
  if (report === undefined) return null
  const of = tx
    .selectFrom('billing_reports')
    .select('tenant_id')
    .where('id', '=', report.split(':')[0] ?? '')
  return (await of.executeTakeFirst())?.tenant_id ?? null
}

const mailFailure =
  ({ clock, random }: Pick<BillingDeps, 'clock' | 'random'>) =>
  (tx: Tx, failed: Readonly<{ tenantId: string }>): Promise<void> =>
    enqueueJob(tx, clock, { topic: paymentMailTopic, payload: { id: newId(random, 'pml'), ...failed }, pool: 'mail' })

const Payload = z.object({
  id: z.string(),
  tenantId: z.string(),
  // One of both.
  itemId: z.string().optional(),
  plan: z.string().optional(),
  isUnpaid: z.boolean(),
  // A plan is of a tenant that exists, and has no such state.
  isInstalled: z.boolean().default(true),
})

/** The address is read now: the queue holds none. The operator of a tenant without one gets an alert. */
export const mailPaymentFailed =
  ({ db, mailer, baseUrl }: Pick<BillingDeps, 'db' | 'mailer' | 'baseUrl'>): JobHandler =>
  async (payload, { signal }) => {
    const { id, tenantId, itemId = '', plan, ...failed } = Payload.parse(payload)
    const tenant = await tenantById(db, tenantId)
    if (!tenant?.billingEmail) return
    const of = plan === undefined ? { itemName: (await findItem(db, itemId))?.name ?? itemId } : { plan }
    const mail = paymentFailedMail({ tenantName: tenant.name, ...failed, ...of, billsUrl: billsUrlOf(baseUrl) })
    await mailer.send({ id, to: tenant.billingEmail, ...mail }, signal)
  }

const Failed = z.object({
  id: z.string(),
  tenantId: z.string(),
  invoiceId: z.string(),
  itemName: z.string(),
  cents: z.int(),
  currency: z.string(),
  hasEnded: z.boolean(),
})

/** As for a failed payment. */
export const mailInvoiceFailed =
  ({ db, mailer, baseUrl }: Pick<BillingDeps, 'db' | 'mailer' | 'baseUrl'>): JobHandler =>
  async (payload, { signal }) => {
    const { id, tenantId, invoiceId, itemName, hasEnded, ...amount } = Failed.parse(payload)
    const tenant = await tenantById(db, tenantId)
    if (!tenant?.billingEmail) return
    const mail = invoiceFailedMail({ tenantName: tenant.name, itemName, invoiceId, amount, hasEnded, billsUrl: billsUrlOf(baseUrl) })
    await mailer.send({ id, to: tenant.billingEmail, ...mail }, signal)
  }
