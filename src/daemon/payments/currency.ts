import { problem } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'

/**
 * One currency: with two, a customer could not be billed, and a statement would add cents of both. Submissions do not count: strangers send them,
 * and an approval refuses another currency. Throws CONFIG_INVALID for another price.
 */
export async function assertCurrency(db: Db, { currency }: Readonly<{ currency: string }>): Promise<void> {
  const found = [
    await db.selectFrom('marketplace_items').select('currency').where('currency', '<>', currency).limit(1).executeTakeFirst(),
    await db.selectFrom('billing_spans').select('currency').where('currency', '<>', currency).limit(1).executeTakeFirst(),
    // A module with a price in another currency is never invoiced.
    await db
      .selectFrom('billing_usage')
      .select('currency')
      .where('currency', '<>', currency)
      .where('invoice_id', 'is not', null)
      .limit(1)
      .executeTakeFirst(),
  ]
  const other = found.find((one) => one?.currency)?.currency
  if (other)
    throw problem(
      'CONFIG_INVALID',
      `payments.currency is ${currency}, but prices in ${other} exist, and it cannot change then. fix: set TENANTRY_PAYMENTS_CURRENCY=${other}`,
    )
}
