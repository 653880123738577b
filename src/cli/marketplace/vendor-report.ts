import type { Sale, VendorPayouts } from '../../core/billing/index.ts'
import type { Vendor, VendorItem, VendorSubmission } from '../../core/marketplace/index.ts'
import { moneyText } from '../../core/payments/index.ts'
import { ago, type Column, type Context, clean, type Style, sections, table } from '../kit/index.ts'
import { priceText } from './price.ts'

type Payout = VendorPayouts['payouts'][number]

/** A vendor with what the account of its address shows. */
export type VendorReport = Vendor &
  Readonly<{ items: readonly VendorItem[]; submissions: readonly VendorSubmission[]; sales: readonly Sale[]; payouts: readonly Payout[] }>

export async function readVendor({ api }: Context, id: string): Promise<VendorReport> {
  const params = { id }
  const vendor = await api.marketplace.showVendor({ params })
  const { sales } = await api.vendor.showVendorSales({ params })
  const { payouts } = await api.vendor.showVendorPayouts({ params })
  return { ...vendor, sales, payouts }
}

const itemColumns: Column<VendorItem>[] = [
  { title: 'ITEM', value: ({ id }) => id, priority: 1 },
  { title: 'NAME', value: ({ name }) => clean(name), priority: 1, minWidth: 8 },
  { title: 'VERSION', value: ({ version }) => version, priority: 2 },
  { title: 'STATUS', value: ({ status, withdrawnAt }) => (withdrawnAt === null ? status : 'withdrawn'), priority: 1 },
  { title: 'PRICE', value: priceText, priority: 2 },
  { title: 'INSTALLED', value: ({ installations }) => String(installations), priority: 1, align: 'right' },
]

const submissionColumns = ({ now }: Style): Column<VendorSubmission>[] => [
  { title: 'SUBMISSION', value: ({ id }) => id, priority: 1 },
  { title: 'NAME', value: ({ name }) => clean(name), priority: 1, minWidth: 8 },
  { title: 'VERSION', value: ({ version }) => version, priority: 2 },
  { title: 'MAIL CONFIRMED', value: ({ confirmed }) => (confirmed ? 'yes' : 'no'), priority: 2 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1 },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 3 },
]

const saleColumns: Column<Sale>[] = [
  { title: 'MONTH', value: ({ month }) => month, priority: 1 },
  { title: 'ITEM', value: ({ name }) => clean(name), priority: 1, minWidth: 8 },
  { title: 'PRICE', value: ({ priceModel }) => priceModel, priority: 3 },
  { title: 'QUANTITY', value: ({ quantity }) => String(quantity), priority: 2, align: 'right' },
  { title: 'SALES', value: moneyText, priority: 1, align: 'right' },
]

const payoutColumns: Column<Payout>[] = [
  { title: 'PAYOUT', value: ({ id }) => id, priority: 3 },
  { title: 'MONTH', value: ({ month }) => month, priority: 1 },
  { title: 'STATE', value: ({ state }) => state, priority: 1 },
  { title: 'GROSS', value: ({ grossCents: cents, currency }) => moneyText({ cents, currency }), priority: 2, align: 'right' },
  { title: 'FEE', value: ({ feeCents: cents, currency }) => moneyText({ cents, currency }), priority: 3, align: 'right' },
  { title: 'NET', value: ({ netCents: cents, currency }) => moneyText({ cents, currency }), priority: 1, align: 'right' },
]

export const reportView = ({ items, submissions, sales, payouts }: VendorReport, style: Style): string =>
  sections(
    items.length === 0 ? 'No items.' : table(style, itemColumns, items),
    submissions.length === 0 ? '' : table(style, submissionColumns(style), submissions),
    sales.length === 0 ? 'No sales in the last year.' : table(style, saleColumns, sales),
    payouts.length === 0 ? '' : table(style, payoutColumns, payouts),
  )
