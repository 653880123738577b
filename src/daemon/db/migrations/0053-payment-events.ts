import type { Migration } from './migration.ts'

/** Events of the payment provider: the id keeps an event that is sent twice from being applied twice. */
export const paymentEvents: Migration = {
  name: '0053-payment-events',
  async up(db) {
    await db.schema
      .createTable('payment_events')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('type', 'text', (c) => c.notNull())
      .addColumn('endpoint', 'text', (c) => c.notNull())
      .addColumn('object_kind', 'text')
      .addColumn('object_id', 'text')
      .addColumn('livemode', 'integer', (c) => c.notNull())
      .addColumn('event_at', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('outcome', 'text')
      .addColumn('applied_at', 'text')
      .execute()
    await db.schema.createIndex('payment_events_newest').on('payment_events').columns(['created_at', 'id']).execute()
  },
}
