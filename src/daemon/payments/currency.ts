import { problem } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'

/**
 * One currency: with two, a customer could not be billed, and a statement would add cents of both. Submissions do not count: strangers send them,
 * and an approval refuses another currency. Throws CONFIG_INVALID for another price.
 */
export async function assertCurrency(db: Db, { currency }: Readonly<{ currency: string }>): Promise<void> {
  for (const table of ['marketplace_items', 'billing_spans'] as const) {
    const other = await db.selectFrom(table).select('currency').where('currency', '<>', currency).limit(1).executeTakeFirst()
    if (other?.currency)
      throw problem(
        'CONFIG_INVALID',
        `payments.currency is ${currency}, but prices in ${other.currency} exist, and it cannot change then. fix: set TENANTRY_PAYMENTS_CURRENCY=${other.currency}`,
      )
  }
}
