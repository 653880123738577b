import type { Migration } from './migration.ts'

/** Whether a sync found that the provider does not have the account of a vendor any more. */
export const goneAccounts: Migration = {
  name: '0070-gone-accounts',
  async up(db) {
    await db.schema
      .alterTable('marketplace_vendors')
      .addColumn('payment_account_gone', 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
  },
}
