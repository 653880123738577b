import { acceptFix, type Difference, difference } from '../../core/billing/index.ts'
import { accountStateOf, moneyText } from '../../core/payments/index.ts'
import { vendorsOf } from '../marketplace/index.ts'
import type { BillingDeps } from './deps.ts'

type Deps = Pick<BillingDeps, 'db' | 'provider'>

/** Compares the accounts of vendors, the prices of items and the transfers to developers: they belong to no tenant. */
export const ofVendorsAndItems = async (deps: Deps): Promise<Difference[]> => [
  ...(await ofVendors(deps)),
  ...(await ofItems(deps)),
  ...(await ofPayouts(deps)),
]

async function ofPayouts({ db, provider }: Deps): Promise<Difference[]> {
  const rows = await db.selectFrom('billing_payouts').selectAll().where('state', '=', 'transferred').orderBy('id').execute()
  const byDestination = new Map<string, Awaited<ReturnType<typeof provider.listTransfers>>>()
  const found: Difference[] = []
  for (const row of rows) {
    const destination = row.destination ?? ''
    const transfers = byDestination.get(destination) ?? (await provider.listTransfers(destination))
    byDestination.set(destination, transfers)
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

async function ofVendors({ db, provider }: Deps): Promise<Difference[]> {
  const found: Difference[] = []
  for (const vendor of await vendorsOf(db, { limit: maxVendors })) {
    if (vendor.paymentAccountId === null) continue
    const account = await provider.getAccount(vendor.paymentAccountId)
    // A sync stores an account that the provider does not have any more as restricted.
    const there = account ? accountStateOf(account, vendor.paymentAccountStatus) : 'restricted'
    if (there !== vendor.paymentAccountStatus)
      found.push(
        difference(
          'account_differs',
          { subject: vendor.id, id: vendor.paymentAccountId },
          {
            ...{ here: vendor.paymentAccountStatus, there },
            fix: `tenantry marketplace vendors sync ${vendor.id}`,
          },
        ),
      )
  }
  return found
}

/** More vendors than a platform has. */
const maxVendors = 10_000

async function ofItems({ db, provider }: Deps): Promise<Difference[]> {
  const rows = await db
    .selectFrom('marketplace_items')
    .select(['id', 'slug', 'price_cents', 'currency', 'payment_price_id'])
    .where('payment_price_id', 'is not', null)
    .execute()
  const found: Difference[] = []
  for (const row of rows) {
    const price = await provider.getPrice(row.payment_price_id as string)
    if (price?.active && price.unit.cents === row.price_cents && price.unit.currency === row.currency) continue
    found.push(
      difference(
        'item_price_differs',
        { subject: row.slug, id: row.payment_price_id as string },
        {
          here: moneyText({ cents: row.price_cents ?? 0, currency: row.currency ?? '' }),
          there: price ? `${moneyText(price.unit)}${price.active ? '' : ', inactive'}` : 'unknown',
          fix: `activate it in the Dashboard of the provider, or set the same price again: tenantry marketplace items update ${row.id} --price …`,
        },
      ),
    )
  }
  return found
}
