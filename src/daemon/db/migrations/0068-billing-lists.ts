import type { Migration } from './migration.ts'

/** An index to list and count the usage of a state. */
export const billingLists: Migration = {
  name: '0068-billing-lists',
  async up(db) {
    await db.schema.createIndex('billing_usage_in_state').on('billing_usage').columns(['state', 'created_at', 'id']).execute()
  },
}
