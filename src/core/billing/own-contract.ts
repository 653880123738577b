import { z } from 'zod'
import { Plan } from '../boxes/index.ts'
import { type Contract, Email, endpoint, Paging, platform, Timestamp } from '../contract/index.ts'
import { Preview } from './preview.ts'

const base = '/api/platform/v1/billing'
const auth = platform('manageBilling')

/** A paid item of the marketplace. */
const PaidSubscription = z.object({
  id: z.string(),
  itemId: z.string(),
  name: z.string(),
  status: z.enum(['active', 'cancelled']),
  paymentStatus: z.enum(['ok', 'past_due', 'unpaid']),
  priceModel: z.enum(['flat-monthly', 'per-active-user']),
  priceCents: z.int(),
  currency: z.string(),
  periodEnd: Timestamp.nullable().meta({
    description: 'End of the present period at the payment provider; of a cancelled one, until when it is paid',
  }),
})

const OwnBilling = z.object({
  plan: z.object({
    name: Plan,
    subscription: z
      .object({ status: z.string(), currentPeriodEnd: Timestamp })
      .nullable()
      .meta({ description: 'At the payment provider; null if the plan has none' }),
  }),
  billingEmail: z.string().nullable().meta({ description: 'Where the payment provider sends invoices' }),
  hasProvider: z.boolean().meta({ description: 'Whether a payment provider is set up; without one nothing is charged' }),
  next: Preview.omit({ tenant: true }).meta({ description: 'Charges of the present month, as of now, without plan and tax' }),
  subscriptions: z.array(PaidSubscription).meta({ description: 'Newest first; cancelled ones as long as they are paid' }),
})
export type OwnBilling = Readonly<z.infer<typeof OwnBilling>>

const OwnInvoice = z.object({
  id: z.string(),
  number: z.string().nullable(),
  status: z.enum(['open', 'paid', 'uncollectible', 'void']),
  createdAt: Timestamp.meta({ description: 'From then on it cannot change' }),
  dueAt: Timestamp.nullable().meta({ description: 'When you must have paid it; null: it is collected' }),
  totalCents: z.int().meta({ description: 'With tax' }),
  taxCents: z.int(),
  paidCents: z.int(),
  currency: z.string(),
  pageUrl: z.string().nullable().meta({ description: 'The page of the payment provider that shows the invoice, and where it can be paid' }),
  pdfUrl: z.string().nullable(),
})
export type OwnInvoice = Readonly<z.infer<typeof OwnInvoice>>

/** Bills of the own tenant, for users with `manageBilling`. Money moves at the payment provider alone. */
export const ownBillingContract = {
  showOwnBilling: endpoint({
    method: 'GET',
    path: base,
    auth,
    cost: 'export',
    returns: OwnBilling,
    summary: 'Show plan, charges of the present month, and paid items with the end of their period',
  }),
  listOwnInvoices: endpoint({
    method: 'GET',
    path: `${base}/invoices`,
    auth,
    cost: 'remote',
    query: Paging,
    returns: z.object({ invoices: z.array(OwnInvoice), nextCursor: z.string().nullable() }),
    problems: ['PAYMENTS_UNAVAILABLE', 'PAYMENT_FAILED'],
    summary: 'List your invoices with their pages at the payment provider, newest first',
  }),
  openPaymentPage: endpoint({
    method: 'POST',
    audit: 'payment.setup-link',
    path: `${base}/payment-method`,
    auth,
    cost: 'remote',
    body: z
      .strictObject({
        billingEmail: Email.optional().meta({ description: 'Where invoices go from now on; required if there is no address yet' }),
      })
      .prefault({}),
    returns: z.object({ url: z.string(), expiresAt: Timestamp }),
    problems: ['PAYMENTS_UNAVAILABLE', 'PAYMENT_FAILED', 'CONFLICT'],
    summary: 'Make a link to the page of the payment provider where you store a means of payment; it is valid once',
  }),
} as const satisfies Contract
