import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Paid installations, and every subscription that the provider had for a tenant and item. */
export const payments: Migration = {
  name: '0052-payments',
  async up(db) {
    await db.schema
      .createTable('payment_attempts')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('item_id', 'text', (c) => c.notNull())
      .addColumn('customer_id', 'text', (c) => c.notNull())
      .addColumn('journal', 'text', (c) => c.notNull())
      .addColumn('outcome', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .addColumn('finished_at', 'text')
      .execute()
    await db.schema
      .createIndex('payment_attempts_open')
      .on('payment_attempts')
      .columns(['tenant_id', 'item_id'])
      .unique()
      .where(sql.ref('finished_at'), 'is', null)
      .execute()
    await db.schema
      .createTable('payment_links')
      .addColumn('payment_subscription_id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('item_id', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('payment_links_of_tenant').on('payment_links').columns(['tenant_id', 'item_id']).execute()
  },
}
