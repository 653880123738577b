import {
  isCharged,
  type Month,
  maxSalesMonths,
  monthEnd,
  type Sale,
  type Sales,
  salesMonths,
  type VendorPayouts,
} from '../../../core/billing/index.ts'
import { isoNow, problem, type VendorActor } from '../../../core/kit/index.ts'
import { findVendor, vendorIdsOf } from '../../marketplace/index.ts'
import type { BillingDeps } from './deps.ts'
import { isInstalledIn, type SpanRow } from './spans.repo.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock'>
type One = Readonly<{ id: string }>

const noSuchVendor = (id: string) => problem('NOT_FOUND', `Vendor ${id} does not exist. fix: tenantry marketplace vendors list`)

/** Throws NOT_FOUND. */
export async function existingVendorId({ db }: Pick<Deps, 'db'>, { id }: One): Promise<string> {
  if (await findVendor(db, { id })) return id
  throw noSuchVendor(id)
}

/** A vendor of another address is answered like one that does not exist. Throws NOT_FOUND. */
export async function assertOwnVendor({ db }: Pick<Deps, 'db'>, actor: VendorActor, { id }: One): Promise<void> {
  if ((await vendorIdsOf(db, actor)).includes(id)) return
  throw problem('NOT_FOUND', `Vendor ${id} does not exist in this account. fix: GET /api/vendor/v1/account`)
}

type Asked = Readonly<{ vendorIds: readonly string[]; from?: Month | undefined; to?: Month | undefined }>
type ItemRow = Readonly<{ id: string; name: string; withdrawn_at: string | null }>

/** Sales of the items of vendors, by month and item, newest month first. It names no tenant. Throws VALIDATION. */
export async function salesOf({ db, clock }: Deps, { vendorIds, ...asked }: Asked): Promise<Sales> {
  const now = isoNow(clock)
  const months = salesMonths(asked, now)
  const [from, to] = [months?.[0], months?.at(-1)]
  if (!months || from === undefined || to === undefined) throw wrongRange()
  const items = await itemsOf(db, vendorIds)
  const range = { itemIds: items.map(({ id }) => id), from, to }
  const [spans, users] = [await spansOf(db, range), await usersOf(db, range)]
  const sales = months
    .toReversed()
    .flatMap((month) =>
      items.flatMap((item): Sale[] => [...flatSales(item, spans.get(item.id) ?? [], { month, now }), ...userSales(item, users, month)]),
    )
  return { from, to, sales }
}

function wrongRange() {
  const reason = `must be from 1 to ${maxSalesMonths} months, the first one in from`
  return problem('VALIDATION', `to: ${reason}`, { details: [{ path: 'to', reason }] })
}

async function itemsOf(db: Deps['db'], vendorIds: readonly string[]): Promise<readonly ItemRow[]> {
  if (vendorIds.length === 0) return []
  const query = db
    .selectFrom('marketplace_items')
    .select(['id', 'name', 'withdrawn_at'])
    .where('vendor_id', 'in', [...vendorIds])
  return query.orderBy('name').orderBy('id').execute()
}

type Range = Readonly<{ itemIds: readonly string[]; from: Month; to: Month }>

/** Installations with a price per month, by item. A subscription is charged on the day of its first one, so those before the range count too. */
async function spansOf(db: Deps['db'], { itemIds, to }: Range): Promise<Map<string, SpanRow[]>> {
  if (itemIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('billing_spans')
    .selectAll()
    .where('item_id', 'in', [...itemIds])
    .where('price_model', '=', 'flat-monthly')
    .where('from_at', '<', monthEnd(to))
    .execute()
  return grouped(rows, ({ item_id }) => item_id)
}

function grouped(spans: readonly SpanRow[], by: (span: SpanRow) => string): Map<string, SpanRow[]> {
  const groups = new Map<string, SpanRow[]>()
  for (const span of spans) {
    const group = groups.get(by(span))
    if (group) group.push(span)
    else groups.set(by(span), [span])
  }
  return groups
}

type At = Readonly<{ month: Month; now: string }>

/** One row for each price: a changed price applies to new installations. */
function flatSales({ id: itemId, name, withdrawn_at: endsAt }: ItemRow, spans: readonly SpanRow[], { month, now }: At): Sale[] {
  const charged = [...grouped(spans, (span) => span.payment_subscription_id).values()].flatMap((own) => {
    const last = own.filter((span) => isInstalledIn(span, month)).at(-1)
    return last && isCharged(own, { month, now, endsAt }) ? [last] : []
  })
  const prices = [...grouped(charged, ({ unit_cents, currency }) => `${currency} ${unit_cents}`).values()]
  return prices.map((same) => {
    const { unit_cents, currency } = same[0] as SpanRow
    return { month, itemId, name, priceModel: 'flat-monthly', quantity: same.length, cents: same.length * unit_cents, currency }
  })
}

type Users = Readonly<{ itemId: string; month: Month; currency: string; quantity: number; cents: number }>

/** Users that were reported to the provider; a month is reported on the first day of the next one. */
async function usersOf(db: Deps['db'], { itemIds, from, to }: Range): Promise<readonly Users[]> {
  if (itemIds.length === 0) return []
  const rows = await db
    .selectFrom('billing_reports')
    .select(({ fn, eb }) => [
      ...(['item_id', 'month', 'currency'] as const),
      fn.sum('quantity').as('quantity'),
      fn.sum(eb('quantity', '*', eb.ref('unit_cents'))).as('cents'),
    ])
    .where('item_id', 'in', [...itemIds])
    .where('month', '>=', from)
    .where('month', '<=', to)
    .where('sent_at', 'is not', null)
    .where('reason', 'is', null)
    .groupBy(['item_id', 'month', 'currency'])
    .execute()
  return rows.map((row) => ({
    ...{ itemId: row.item_id, month: row.month, currency: row.currency },
    ...{ quantity: Number(row.quantity), cents: Number(row.cents) },
  }))
}

const userSales = ({ id, name }: ItemRow, users: readonly Users[], month: Month): Sale[] =>
  users
    .filter((one) => one.itemId === id && one.month === month && one.quantity > 0)
    .map((one) => ({ ...one, name, priceModel: 'per-active-user' }))

/** The newest statements of modules that vendors are paid for. */
export async function payoutsOf({ db }: Pick<Deps, 'db'>, vendorIds: readonly string[]): Promise<VendorPayouts> {
  if (vendorIds.length === 0) return { payouts: [] }
  const rows = await db
    .selectFrom('billing_payouts')
    .selectAll()
    .where('vendor_id', 'in', [...vendorIds])
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(200)
    .execute()
  return {
    payouts: rows.map((row) => ({
      ...{ id: row.id, month: row.month, grossCents: row.gross_cents, feeCents: row.fee_cents, netCents: row.net_cents },
      ...{
        heldCents: row.held_cents,
        deductedCents: row.deducted_cents,
        currency: row.currency,
        state: row.state,
        createdAt: row.created_at,
      },
    })),
  }
}
