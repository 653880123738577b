import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, Email, endpoint, Paging, pagingBy, Timestamp } from '../contract/index.ts'
import { Month } from './month.ts'
import { Preview } from './preview.ts'
import { Payout, UsageRow, UsageState } from './records.ts'
import { usageKinds } from './usage-states.ts'

const base = '/api/admin/v1/billing'
const BySlug = pagingBy(Slug)

/** Something that Tenantry and the provider have differently. Nothing is changed by naming it. */
const Difference = z.object({
  kind: z.enum(['customer_missing', 'subscription_missing', 'subscription_unknown', 'price_differs', 'payment_status_differs']),
  subject: z.string().meta({ description: 'The slug of a tenant' }),
  id: z.string().meta({ description: 'The record, here or at the provider' }),
  here: z.string(),
  there: z.string(),
  fix: z.string(),
})
export type Difference = Readonly<z.infer<typeof Difference>>

const TenantBilling = z.object({
  tenant: z.string(),
  paymentCustomerId: z.string().nullable(),
  billingEmail: z.string().nullable(),
  plan: z
    .object({ subscriptionId: z.string(), status: z.string(), plan: z.string().nullable(), currentPeriodEnd: Timestamp })
    .nullable()
    .meta({ description: 'The subscription of its plan; null if it has none' }),
})

/** Bills and payouts for operators. */
export const billingContract = {
  previewBilling: endpoint({
    method: 'GET',
    path: `${base}/preview`,
    auth: admin('viewer'),
    cost: 'export',
    query: BySlug.extend({ month: Month.optional(), tenant: Slug.optional() }),
    returns: z.object({ month: Month, previews: z.array(Preview), nextCursor: z.string().nullable() }),
    problems: ['NOT_FOUND'],
    summary: 'Preview what tenants are charged for a month (default: the present one), by slug',
  }),
  listUsage: endpoint({
    method: 'GET',
    path: `${base}/usage`,
    auth: admin('viewer'),
    query: Paging.extend({ month: Month.optional(), tenant: Slug.optional(), state: UsageState.optional() }),
    returns: z.object({
      usage: z.array(UsageRow),
      nextCursor: z.string().nullable(),
      open: z
        .object({ unbilled: z.int(), planned: z.int() })
        .meta({ description: 'Amounts that are not billed, of all tenants and months; planned ones are billed next' }),
      hasProvider: z.boolean().meta({ description: 'Whether a payment provider is set up; without one nothing is charged' }),
    }),
    problems: ['NOT_FOUND'],
    summary: 'List the usage of finished months and how it was billed, newest first',
  }),
  waiveUsage: endpoint({
    method: 'POST',
    audit: 'billing.usage-waived',
    path: `${base}/waive`,
    auth: admin('operator'),
    body: z.strictObject({
      ...{ tenant: Slug, until: Month, reason: z.string().trim().min(1).max(1000) },
      kind: z.enum(usageKinds).optional().meta({ description: 'Default: both' }),
    }),
    returns: z.object({ usage: z.array(UsageRow) }),
    problems: ['NOT_FOUND', 'CONFLICT'],
    summary: 'Waive unbilled usage of a tenant, up to a finished month; no job bills it any more',
  }),
  listPayouts: endpoint({
    method: 'GET',
    path: `${base}/payouts`,
    auth: admin('viewer'),
    query: Paging.extend({ month: Month.optional() }),
    returns: z.object({ payouts: z.array(Payout), nextCursor: z.string().nullable() }),
    summary: 'List the statements of developers, newest first',
  }),
  setDeveloperVendor: endpoint({
    method: 'PUT',
    audit: 'billing.developer-vendor',
    path: `${base}/developers/:id`,
    auth: admin('operator'),
    params: z.object({ id: z.string().min(1).max(100) }),
    body: z.strictObject({ vendorId: z.string().min(1).max(100).nullable() }),
    returns: z.object({ developerId: z.string(), vendorId: z.string().nullable() }),
    summary: 'Set the vendor whose account receives the payouts of a developer',
  }),
  reconcileBilling: endpoint({
    method: 'GET',
    path: `${base}/reconcile`,
    auth: admin('operator'),
    cost: 'remote',
    takesLong: true,
    query: BySlug.extend({ limit: z.coerce.number().int().min(1).max(50).default(20), tenant: Slug.optional() }),
    returns: z.object({ differences: z.array(Difference), checked: z.int(), nextCursor: z.string().nullable() }),
    problems: ['PAYMENTS_UNAVAILABLE', 'NOT_FOUND'],
    summary: 'List differences from the payment provider: of one tenant, or page by page of all; a page may be short; changes nothing',
  }),
  showTenantBilling: endpoint({
    method: 'GET',
    path: '/api/admin/v1/tenants/:slug/billing',
    auth: admin('viewer'),
    params: z.object({ slug: Slug }),
    returns: TenantBilling,
    summary: 'Show the payment customer, billing address and plan subscription of a tenant',
  }),
  createPaymentCustomer: endpoint({
    method: 'POST',
    audit: 'payment.setup-link',
    path: '/api/admin/v1/tenants/:slug/payment-customer',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    body: z.strictObject({ billingEmail: Email.optional() }).prefault({}),
    returns: TenantBilling.extend({ setupUrl: z.string(), expiresAt: Timestamp }),
    problems: ['PAYMENTS_UNAVAILABLE', 'PAYMENT_FAILED', 'CONFLICT'],
    summary: 'Create the payment customer of a tenant if it has none, and a link to the hosted page for its means of payment',
  }),
} as const satisfies Contract
export type TenantBilling = Readonly<z.infer<typeof TenantBilling>>
