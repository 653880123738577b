import type { Kysely } from 'kysely'
import { autoIdType } from '../dialects.ts'
import type { Migration } from './migration.ts'

/** What operators are told of, and each message of it. */
export const alerts: Migration = {
  name: '0012-alerts',
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('alerts')
      .addColumn('id', autoIdType(db), (c) => c.primaryKey())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('key', 'text', (c) => c.notNull())
      .addColumn('open_key', 'text', (c) => c.unique())
      .addColumn('subject', 'text', (c) => c.notNull())
      .addColumn('severity', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('title', 'text', (c) => c.notNull())
      .addColumn('body', 'text', (c) => c.notNull())
      .addColumn('command', 'text', (c) => c.notNull())
      .addColumn('standing', 'integer', (c) => c.notNull())
      .addColumn('count', 'integer', (c) => c.notNull())
      .addColumn('first_at', 'text', (c) => c.notNull())
      .addColumn('last_at', 'text', (c) => c.notNull())
      .addColumn('told_at', 'text')
      .addColumn('told', 'integer', (c) => c.notNull())
      .addColumn('acknowledged_at', 'text')
      .addColumn('acknowledged_by', 'text')
      .addColumn('closed_at', 'text')
      .addColumn('closed_because', 'text')
      .execute()
    await db.schema.createIndex('alerts_by_status').on('alerts').columns(['status', 'last_at']).execute()
    await db.schema.createIndex('alerts_by_subject').on('alerts').columns(['subject', 'status']).execute()
    await db.schema
      .createTable('alert_deliveries')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('alert_id', 'bigint', (c) => c.notNull().references('alerts.id').onDelete('cascade'))
      .addColumn('channel', 'text', (c) => c.notNull())
      .addColumn('target', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('attempts', 'integer', (c) => c.notNull())
      .addColumn('last_error', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('sent_at', 'text')
      .execute()
    await db.schema.createIndex('alert_deliveries_of').on('alert_deliveries').column('alert_id').execute()
    await db.schema.createIndex('alert_deliveries_by_status').on('alert_deliveries').column('status').execute()
  },
}
