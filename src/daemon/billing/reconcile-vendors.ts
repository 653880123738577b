import { acceptFix, type Difference, difference } from '../../core/billing/index.ts'
import { pageEnd, readPageEnd } from '../../core/contract/index.ts'
import type { Vendor } from '../../core/marketplace/index.ts'
import { accountStateOf, moneyText } from '../../core/payments/index.ts'
import { vendorsOf } from '../marketplace/index.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'provider'>

/** One thing to compare. `end`: the cursor of what follows it. */
export type Comparison = Readonly<{ end: string; compare(): Promise<Difference[]> }>
type Part = (deps: Deps, after: string) => Promise<readonly Readonly<{ key: string; compare: Comparison['compare'] }>[]>

const batch = 100

/** Accounts of vendors, prices of items and transfers to the accounts of developers, from a cursor on: they belong to no tenant. */
export async function* ofPlatform(deps: Deps, cursor = 'vendor:'): AsyncGenerator<Comparison> {
  const [, begin, from = ''] = /^([a-z]+):(.*)$/.exec(cursor) ?? []
  const names = Object.keys(parts) as (keyof typeof parts)[]
  for (const name of names.slice(names.indexOf(begin as keyof typeof parts)))
    for (let after = name === begin ? from : '', last = batch; last === batch; ) {
      const found = await parts[name](deps, after)
      for (const { key, compare } of found) yield { end: `${name}:${key}`, compare }
      last = found.length
      after = found.at(-1)?.key ?? after
    }
}

const parts = {
  vendor: async (deps, after) => {
    const vendors = await vendorsOf(deps.db, { after: after === '' ? undefined : readPageEnd(after), limit: batch })
    return vendors.map((vendor) => ({ key: pageEnd(vendor), compare: () => ofVendor(deps, vendor) }))
  },
  item: async (deps, after) => (await itemsAfter(deps, after)).map((item) => ({ key: item.id, compare: () => ofItem(deps, item) })),
  account: async (deps, after) =>
    (await accountsAfter(deps, after)).map((account) => ({ key: account, compare: () => ofTransfers(deps, account) })),
} satisfies Record<string, Part>

/** Accounts that something was transferred to. */
async function accountsAfter({ db }: Deps, after: string): Promise<string[]> {
  const rows = await db
    .selectFrom('billing_payouts')
    .select('destination')
    .distinct()
    .where('state', '=', 'transferred')
    .where('destination', '>', after)
    .orderBy('destination')
    .limit(batch)
    .execute()
  return rows.map(({ destination }) => destination as string)
}

async function ofTransfers({ db, provider }: Deps, destination: string): Promise<Difference[]> {
  const transferred = db.selectFrom('billing_payouts').selectAll().where('state', '=', 'transferred')
  const rows = await transferred.where('destination', '=', destination).orderBy('id').execute()
  const transfers = await provider.listTransfers(destination)
  const found: Difference[] = []
  for (const row of rows) {
    const transfer = transfers.find(({ id, metadata }) => id === row.transfer_id || metadata.svc_payout === row.id)
    const here = `${moneyText({ cents: row.net_cents, currency: row.currency })} for ${row.month}`
    if (!transfer)
      found.push(
        difference(
          'transfer_missing',
          { subject: row.developer_id, id: row.id },
          {
            here,
            there: 'no transfer',
            fix: `transfer it at the provider with the metadata svc_payout=${row.id}, or ${acceptFix('transfer_missing', row.id)}`,
          },
        ),
      )
    else if (transfer.amount.cents - transfer.reversedCents !== row.net_cents)
      found.push(
        difference(
          'transfer_differs',
          { subject: row.developer_id, id: row.id },
          {
            ...{
              here,
              there: `${moneyText(transfer.amount)}, ${moneyText({ ...transfer.amount, cents: transfer.reversedCents })} reversed`,
            },
            fix: `clarify it with the developer, then ${acceptFix('transfer_differs', row.id)}`,
          },
        ),
      )
  }
  return found
}

async function ofVendor({ provider }: Deps, { id, paymentAccountId, paymentAccountStatus }: Vendor): Promise<Difference[]> {
  if (paymentAccountId === null) return []
  const account = await provider.getAccount(paymentAccountId)
  // A sync stores an account that the provider does not have any more as restricted.
  const there = account ? accountStateOf(account, paymentAccountStatus) : 'restricted'
  if (there === paymentAccountStatus) return []
  const texts = { here: paymentAccountStatus, there, fix: `tenantry marketplace vendors sync ${id}` }
  return [difference('account_differs', { subject: id, id: paymentAccountId }, texts)]
}

const itemsAfter = ({ db }: Deps, after: string) =>
  db
    .selectFrom('marketplace_items')
    .select(['id', 'slug', 'price_cents', 'currency', 'payment_price_id'])
    .where('payment_price_id', 'is not', null)
    .where('id', '>', after)
    .orderBy('id')
    .limit(batch)
    .execute()

async function ofItem({ provider }: Deps, row: Awaited<ReturnType<typeof itemsAfter>>[number]): Promise<Difference[]> {
  const priceId = row.payment_price_id as string
  const price = await provider.getPrice(priceId)
  if (price?.active && price.unit.cents === row.price_cents && price.unit.currency === row.currency) return []
  return [
    difference(
      'item_price_differs',
      { subject: row.slug, id: priceId },
      {
        here: moneyText({ cents: row.price_cents ?? 0, currency: row.currency ?? '' }),
        there: price ? `${moneyText(price.unit)}${price.active ? '' : ', inactive'}` : 'unknown',
        fix: `activate it in the Dashboard of the provider, or set the same price again: tenantry marketplace items update ${row.id} --price …`,
      },
    ),
  ]
}
