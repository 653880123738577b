import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Indexes to list and count the usage of a state, and of modules that the next statement of their developer counts. */
export const billingLists: Migration = {
  name: '0068-billing-lists',
  async up(db) {
    await db.schema.createIndex('billing_usage_in_state').on('billing_usage').columns(['state', 'created_at', 'id']).execute()
    await db.schema
      .createIndex('billing_usage_not_stated')
      .on('billing_usage')
      .columns(['developer_id', 'id'])
      .where(
        sql<boolean>`((state = 'billed' and payout_id is null)
          or (state = 'paid' and counted_cents <> price_cents - refunded_cents) or (state = 'refunded' and counted_cents <> 0))`,
      )
      .execute()
  },
}
