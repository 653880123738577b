import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Tenants, their boxes, what the boxes should run, who holds one, and what the platform needs to speak to them. */
export const boxes: Migration = {
  name: '0005-boxes',
  async up(db) {
    await db.schema
      .createTable('tenants')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('slug', 'text', (c) => c.notNull().unique())
      .addColumn('chat_domain', 'text', (c) => c.notNull().unique())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('plan', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('boxes')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
      .addColumn('host_id', 'text', (c) => c.notNull())
      .addColumn('slug', 'text', (c) => c.notNull())
      .addColumn('live', 'integer', (c) => c.notNull())
      .addColumn('managed', 'integer', (c) => c.notNull())
      .addColumn('canary', 'integer', (c) => c.notNull())
      .addColumn('fenced', 'integer', (c) => c.notNull())
      .addColumn('ownership_epoch', 'integer', (c) => c.notNull())
      .addColumn('public_url', 'text', (c) => c.notNull())
      .addColumn('internal_url', 'text')
      .addColumn('first_port', 'integer')
      .addColumn('folder', 'text')
      .addColumn('project', 'text')
      .addColumn('findings', 'text', (c) => c.notNull())
      .addColumn('set_up_command', 'text', (c) => c.notNull())
      .addColumn('set_up_attempt', 'integer', (c) => c.notNull())
      .addColumn('installed_migrations_head', 'text', (c) => c.notNull())
      .addColumn('installed_postgres', 'text', (c) => c.notNull())
      .addColumn('installed_synapse', 'text', (c) => c.notNull())
      .addColumn('installed_minio', 'text', (c) => c.notNull())
      .addColumn('database_bytes', 'bigint')
      .addColumn('last_report', 'text')
      .addColumn('reported_at', 'text')
      .addColumn('last_probe', 'text')
      .addColumn('drift_report', 'text')
      .addColumn('drift_severity', 'text', (c) => c.notNull())
      .addColumn('drift_revision', 'integer', (c) => c.notNull())
      .addColumn('last_drift_check_at', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    // A tenant has one live box, which bears its slug.
    await sql`create unique index boxes_live_slug on boxes (slug) where live = 1`.execute(db)
    await sql`create unique index boxes_live_tenant on boxes (tenant_id) where live = 1`.execute(db)
    await db.schema.createIndex('boxes_slug').on('boxes').columns(['slug', 'id']).execute()
    await db.schema.createIndex('boxes_host_ports').unique().on('boxes').columns(['host_id', 'first_port']).execute()
    await db.schema
      .createTable('box_secrets')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('box_id', 'text', (c) => c.notNull().references('boxes.id'))
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('sealed', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .addUniqueConstraint('box_secrets_name', ['box_id', 'name'])
      .execute()
    await db.schema
      .createTable('box_holds')
      .addColumn('box_id', 'text', (c) => c.primaryKey().references('boxes.id'))
      .addColumn('holder', 'text', (c) => c.notNull())
      .addColumn('until', 'text', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('manifests')
      .addColumn('revision', 'integer', (c) => c.primaryKey())
      .addColumn('content', 'text', (c) => c.notNull())
      .addColumn('applied_at', 'text', (c) => c.notNull())
      .addColumn('applied_by', 'text', (c) => c.notNull())
      .execute()
  },
}
