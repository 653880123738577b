import { sql } from 'kysely'
import { dialectOf } from '../dialects.ts'
import type { Migration } from './migration.ts'

/** Published events of modules per minute, and an index for documents by key. */
export const modulePublishing: Migration = {
  name: '0050-module-publishing',
  async up(db) {
    await db.schema
      .createTable('module_publishing')
      .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
      .addColumn('module_id', 'text', (c) => c.notNull())
      .addColumn('minute', 'text', (c) => c.notNull())
      .addColumn('published', 'integer', (c) => c.notNull())
      .addColumn('notified_at', 'text')
      .addPrimaryKeyConstraint('module_publishing_pk', ['tenant_id', 'module_id'])
      .execute()
    // SQLite compares byte by byte already; its primary key serves.
    if (dialectOf(db) === 'postgres')
      await sql`create index module_documents_keys on module_documents (tenant_id, module_id, generation, key collate "C")`.execute(db)
  },
}
