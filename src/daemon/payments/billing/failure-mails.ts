import { z } from 'zod'
import { invoiceFailedMail, paymentFailedMail } from '../../../core/billing/index.ts'
import { type Clock, newId, type Random } from '../../../core/kit/index.ts'
import type { Money } from '../../../core/payments/index.ts'
import { enqueueJob, type JobHandler, type WithTx } from '../../db/index.ts'
import { findItem } from '../../marketplace/index.ts'
import { tenantById } from '../../tenants/index.ts'
import { billsUrlOf } from './bills-url.ts'
import type { BillingDeps } from './deps.ts'

export const invoiceMailTopic = 'billing.invoice-mail'
export const paymentMailTopic = 'billing.payment-mail'

type Deps = WithTx<Readonly<{ clock: Clock; random: Random }>>

type FailedPayment = Readonly<{ tenantId: string; isUnpaid: boolean }> &
  (Readonly<{ itemId: string; isInstalled: boolean }> | Readonly<{ plan: string }>)

/** Mails the tenant that a payment of an item or of its plan failed. */
export const enqueuePaymentMail = ({ tx, clock, random }: Deps, failed: FailedPayment): Promise<void> =>
  enqueueJob(tx, clock, { topic: paymentMailTopic, payload: { id: newId(random, 'pml'), ...failed }, pool: 'mail' })

type FailedInvoice = Readonly<{ tenantId: string; invoiceId: string; itemName: string; amount: Money; hasEnded: boolean }>

/** The same for an invoice without a subscription, or (`hasEnded`) for the last one of an ended subscription; once for each. */
export const enqueueInvoiceMail = ({ tx, clock, random }: Deps, { amount, ...failed }: FailedInvoice): Promise<void> =>
  enqueueJob(tx, clock, { topic: invoiceMailTopic, payload: { id: newId(random, 'pml'), ...failed, ...amount }, pool: 'mail' })

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
