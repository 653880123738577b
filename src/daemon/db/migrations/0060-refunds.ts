import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Refunds that were made by hand, what statements counted of each module, and differences with the provider that operators accepted. */
export const refunds: Migration = {
  name: '0060-refunds',
  async up(db) {
    for (const column of ['refunded_cents', 'counted_cents'])
      await db.schema
        .alterTable('billing_usage')
        .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
        .execute()
    await sql`update billing_usage set refunded_cents = price_cents where state = 'refunded'`.execute(db)
    await sql`update billing_usage set counted_cents = price_cents where payout_id is not null`.execute(db)
    await db.schema.createIndex('billing_usage_invoice').on('billing_usage').column('invoice_id').execute()
    for (const column of ['deducted_cents', 'transfer_attempt'])
      await db.schema
        .alterTable('billing_payouts')
        .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
        .execute()
    await db.schema
      .createTable('payment_refunds')
      .addColumn('invoice_id', 'text', (c) => c.primaryKey())
      .addColumn('refunded_cents', 'integer', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('billing_accepted')
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('subject', 'text', (c) => c.notNull())
      .addColumn('id', 'text', (c) => c.notNull())
      .addColumn('here', 'text', (c) => c.notNull())
      .addColumn('there', 'text', (c) => c.notNull())
      .addColumn('reason', 'text', (c) => c.notNull())
      .addColumn('accepted_by', 'text', (c) => c.notNull())
      .addColumn('accepted_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('billing_accepted_pk', ['kind', 'subject', 'id'])
      .execute()
  },
}
