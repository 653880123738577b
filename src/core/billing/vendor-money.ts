import { z } from 'zod'
import { admin, type Contract, endpoint, Timestamp, vendor } from '../contract/index.ts'
import { type Month, Month as MonthText, monthEnd, monthOf, monthsBetween } from './month.ts'

const one = z.object({ id: z.string().min(1).max(50) })

/** Months of one answer. */
export const maxSalesMonths = 24

const Sale = z.object({
  month: MonthText,
  itemId: z.string(),
  name: z.string(),
  priceModel: z.enum(['flat-monthly', 'per-active-user']),
  quantity: z.int().meta({ description: 'Periods that began in the month, or its active users' }),
  cents: z.int(),
  currency: z.string(),
})
export type Sale = Readonly<z.infer<typeof Sale>>

const Sales = z.object({
  from: MonthText,
  to: MonthText,
  sales: z.array(Sale).meta({
    description: 'Newest month first. What was charged, before fee, tax, refunds and unpaid invoices: the provider decides those',
  }),
})
export type Sales = Readonly<z.infer<typeof Sales>>

const VendorPayout = z.object({
  id: z.string(),
  month: MonthText,
  grossCents: z.int(),
  feeCents: z.int(),
  netCents: z.int(),
  heldCents: z.int().meta({ description: 'Billed and not paid yet' }),
  deductedCents: z.int().meta({ description: 'Refunds of what former statements counted' }),
  currency: z.string(),
  state: z.enum(['listed', 'waiting', 'transferred']),
  createdAt: Timestamp,
})
const Payouts = z.object({ payouts: z.array(VendorPayout).meta({ description: 'The newest 200, newest first' }) })
export type VendorPayouts = Readonly<z.infer<typeof Payouts>>

const range = z.object({
  from: MonthText.optional().meta({ description: 'Default: a year back' }),
  to: MonthText.optional().meta({ description: 'Default: the present month' }),
})

const money = '/api/admin/marketplace/vendors/:id'

/** Sales and payouts of a vendor, for itself and for operators. */
export const vendorMoneyContract = {
  listVendorSales: endpoint({
    method: 'GET',
    path: '/api/vendor/v1/sales',
    auth: vendor,
    perAddress: 10,
    cost: 'export',
    query: range,
    returns: Sales,
    problems: ['VALIDATION'],
    summary: 'List what the items of the account were sold for, by month and item',
  }),
  listVendorPayouts: endpoint({
    method: 'GET',
    path: '/api/vendor/v1/payouts',
    auth: vendor,
    perAddress: 10,
    returns: Payouts,
    summary: 'List the statements of modules that the vendors of the account are paid for',
  }),
  openVendorOnboarding: endpoint({
    method: 'POST',
    audit: 'payment.onboarding-link',
    path: '/api/vendor/v1/vendors/:id/onboarding-link',
    auth: vendor,
    perAddress: 2,
    params: one,
    returns: z.object({ url: z.string(), expiresAt: Timestamp }),
    problems: ['CONFLICT', 'PAYMENTS_UNAVAILABLE', 'PAYMENT_FAILED'],
    summary: 'Create a link for one use to the hosted page where the vendor completes its payment account',
  }),
  showVendorSales: endpoint({
    method: 'GET',
    path: `${money}/sales`,
    auth: admin('viewer'),
    cost: 'export',
    params: one,
    query: range,
    returns: Sales,
    problems: ['VALIDATION'],
    summary: 'List what the items of a vendor were sold for, by month and item',
  }),
  showVendorPayouts: endpoint({
    method: 'GET',
    path: `${money}/payouts`,
    auth: admin('viewer'),
    params: one,
    returns: Payouts,
    summary: 'List the statements of modules that a vendor is paid for',
  }),
} as const satisfies Contract

type Span = Readonly<{ from_at: string; to_at: string | null }>
type Asked = Readonly<{ month: Month; now: string; endsAt: string | null }>

/**
 * Whether a period of a subscription with a price per month began in a month, and was charged: at its first installation, and at each return of that
 * day while the item was installed. `endsAt`: its item was withdrawn, so that no period begins after that.
 */
export function isCharged(spans: readonly Span[], { month, now, endsAt }: Asked): boolean {
  const first = spans.map(({ from_at }) => from_at).toSorted()[0]
  if (first === undefined || monthOf(first) > month) return false
  if (monthOf(first) === month) return true
  const at = returnOf(first, month)
  if (at > now || (endsAt !== null && at > endsAt)) return false
  return spans.some(({ from_at, to_at }) => from_at <= at && (to_at === null || to_at >= at))
}

/** The same day and time of another month, or its last day. */
function returnOf(first: string, month: Month): string {
  const lastDay = new Date(Date.parse(monthEnd(month)) - 1).getUTCDate()
  return `${month}-${String(Math.min(Number(first.slice(8, 10)), lastDay)).padStart(2, '0')}${first.slice(10)}`
}

/** No month before it has a text of its own. */
const firstMonth: Month = '2000-01'

/** The months of a range, oldest first; by default the last twelve. Undefined if it is empty or too long. */
export function salesMonths(asked: Readonly<{ from?: Month | undefined; to?: Month | undefined }>, now: string): Month[] | undefined {
  const to = asked.to ?? monthOf(now)
  const yearBack = `${Number(to.slice(0, 4)) - 1}${to.slice(4)}`
  const from = asked.from ?? (yearBack < firstMonth ? firstMonth : yearBack)
  // Twelve months a year: a long range is refused before it is listed.
  const count = (Number(to.slice(0, 4)) - Number(from.slice(0, 4))) * 12 + Number(to.slice(5)) - Number(from.slice(5)) + 1
  return count < 1 || count > maxSalesMonths ? undefined : monthsBetween(from, to)
}
