import type { Migration } from './migration.ts'

/** The append-only audit log, in hash chains. */
export const audit: Migration = {
  name: '0002-audit',
  async up(db) {
    await db.schema
      .createTable('audit')
      .addColumn('chain', 'text', (c) => c.notNull())
      .addColumn('seq', 'bigint', (c) => c.notNull())
      .addColumn('at', 'text', (c) => c.notNull())
      .addColumn('actor', 'text', (c) => c.notNull())
      .addColumn('action', 'text', (c) => c.notNull())
      .addColumn('subject', 'text')
      .addColumn('data', 'text', (c) => c.notNull())
      .addColumn('previous_hash', 'text', (c) => c.notNull())
      .addColumn('hash', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('audit_pk', ['chain', 'seq'])
      .execute()
    await db.schema
      .createTable('audit_heads')
      .addColumn('chain', 'text', (c) => c.primaryKey())
      .addColumn('seq', 'bigint', (c) => c.notNull())
      .addColumn('hash', 'text', (c) => c.notNull())
      .execute()
  },
}
