import type { Kysely } from 'kysely'
import { autoIdType } from '../dialects.ts'
import type { Migration } from './migration.ts'

/** What the frame itself stands on: ownership, ordered streams, events, follow-up work. */
export const frame: Migration = {
  name: '0001-frame',
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('leases')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('holder', 'text', (c) => c.notNull())
      .addColumn('token', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('streams')
      .addColumn('stream', 'text', (c) => c.primaryKey())
      .addColumn('seq', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('events')
      .addColumn('stream', 'text', (c) => c.notNull())
      .addColumn('seq', 'bigint', (c) => c.notNull())
      .addColumn('source', 'text', (c) => c.notNull())
      .addColumn('event_type', 'text', (c) => c.notNull())
      .addColumn('payload', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('events_pk', ['stream', 'seq'])
      .execute()
    await db.schema.createIndex('events_created').on('events').column('created_at').execute()
    await db.schema
      .createTable('outbox')
      .addColumn('id', autoIdType(db), (c) => c.primaryKey())
      .addColumn('topic', 'text', (c) => c.notNull())
      .addColumn('payload', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('attempts', 'integer', (c) => c.notNull())
      .addColumn('next_at', 'text', (c) => c.notNull())
      .addColumn('lease_until', 'text')
      .addColumn('last_error', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('outbox_due').on('outbox').columns(['status', 'next_at']).execute()
  },
}
