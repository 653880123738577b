import type { Kysely } from 'kysely'
import type { Migration } from './migration.ts'

/** Modules: installations of tenants, their data, runs, deliveries and counters, withdrawn versions, services of type B, and usage. */
export const modules: Migration = {
  name: '0046-modules',
  async up(db) {
    await installations(db)
    await registry(db)
    await runs(db)
    await deliveries(db)
  },
}

async function installations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('module_installations')
    .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
    .addColumn('module_id', 'text', (c) => c.notNull())
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('paused', 'integer', (c) => c.notNull())
    .addColumn('permissions', 'text', (c) => c.notNull())
    .addColumn('feature_flag', 'text', (c) => c.notNull())
    .addColumn('settings', 'text', (c) => c.notNull())
    .addColumn('generation', 'integer', (c) => c.notNull())
    .addColumn('data_generation', 'integer', (c) => c.notNull())
    .addColumn('data_version', 'integer', (c) => c.notNull())
    .addColumn('data_bytes', 'integer', (c) => c.notNull())
    .addColumn('busy_until', 'text')
    .addColumn('former', 'text')
    .addColumn('former_until', 'text')
    .addColumn('remote', 'text')
    .addColumn('upstream_host', 'text')
    .addColumn('installed_at', 'text', (c) => c.notNull())
    .addColumn('activated_at', 'text')
    .addColumn('data_delete_at', 'text')
    .addColumn('updated_at', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('module_installations_pk', ['tenant_id', 'module_id'])
    .execute()
  await db.schema.createIndex('module_installations_of').on('module_installations').columns(['module_id', 'status', 'tenant_id']).execute()
  await db.schema
    .createIndex('module_installations_due')
    .on('module_installations')
    .column('data_delete_at')
    .where('data_delete_at', 'is not', null)
    .execute()
  await db.schema
    .createTable('module_secrets')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
    .addColumn('module_id', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .execute()
  await db.schema
    .createTable('usage_events')
    .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
    .addColumn('module_id', 'text', (c) => c.notNull())
    .addColumn('billing_period', 'text', (c) => c.notNull())
    .addColumn('event_type', 'text', (c) => c.notNull())
    .addColumn('quantity', 'integer', (c) => c.notNull())
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('usage_events_pk', ['tenant_id', 'module_id', 'billing_period', 'event_type'])
    .execute()
}

async function registry(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('module_withdrawals')
    .addColumn('module_id', 'text', (c) => c.notNull())
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('reason', 'text', (c) => c.notNull())
    .addColumn('withdrawn_at', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('module_withdrawals_pk', ['module_id', 'version'])
    .execute()
  await db.schema
    .createTable('module_upstreams')
    .addColumn('module_id', 'text', (c) => c.primaryKey())
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('sealed_secret', 'text', (c) => c.notNull())
    .addColumn('failures', 'integer', (c) => c.notNull())
    .addColumn('rest_until', 'text')
    .addColumn('updated_at', 'text', (c) => c.notNull())
    .execute()
}

async function runs(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('module_documents')
    .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
    .addColumn('module_id', 'text', (c) => c.notNull())
    .addColumn('generation', 'integer', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('value', 'text', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('module_documents_pk', ['tenant_id', 'module_id', 'generation', 'key'])
    .execute()
  await db.schema
    .createTable('module_runs')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
    .addColumn('module_id', 'text', (c) => c.notNull())
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('generation', 'integer', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('event_type', 'text')
    .addColumn('cause', 'text')
    .addColumn('depth', 'integer', (c) => c.notNull())
    .addColumn('delivery_id', 'text')
    .addColumn('attempt', 'integer', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('ms', 'integer', (c) => c.notNull())
    .addColumn('interpreter_ms', 'integer', (c) => c.notNull())
    .addColumn('violations', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('log', 'text', (c) => c.notNull())
    .addColumn('created_at', 'text', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('module_runs_newest').on('module_runs').columns(['tenant_id', 'module_id', 'created_at', 'id']).execute()
  await db.schema.createIndex('module_runs_at').on('module_runs').column('created_at').execute()
  await db.schema
    .createTable('module_counters')
    .addColumn('module_id', 'text', (c) => c.notNull())
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('minute', 'text', (c) => c.notNull())
    .addColumn('bucket', 'text', (c) => c.notNull())
    .addColumn('count', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('module_counters_pk', ['module_id', 'version', 'minute', 'bucket'])
    .execute()
  await db.schema.createIndex('module_counters_minute').on('module_counters').column('minute').execute()
}

async function deliveries(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('module_positions')
    .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
    .addColumn('module_id', 'text', (c) => c.notNull())
    .addColumn('seq', 'integer', (c) => c.notNull())
    .addColumn('attempt', 'integer', (c) => c.notNull())
    .addColumn('next_at', 'text')
    .addColumn('delivery_id', 'text')
    .addColumn('failing_since', 'text')
    .addColumn('error', 'text')
    .addColumn('skipped', 'integer', (c) => c.notNull())
    .addColumn('skipped_at', 'text')
    .addPrimaryKeyConstraint('module_positions_pk', ['tenant_id', 'module_id'])
    .execute()
  await db.schema.createIndex('module_positions_next').on('module_positions').column('next_at').where('next_at', 'is not', null).execute()
  await db.schema
    .createTable('module_dead_letters')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
    .addColumn('module_id', 'text', (c) => c.notNull())
    .addColumn('seq', 'integer', (c) => c.notNull())
    .addColumn('event_type', 'text', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('error', 'text', (c) => c.notNull())
    .addColumn('created_at', 'text', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('module_dead_letters_newest')
    .on('module_dead_letters')
    .columns(['tenant_id', 'module_id', 'created_at', 'id'])
    .execute()
  await db.schema.createIndex('audit_of_subject').on('audit').columns(['subject', 'seq']).execute()
  await db.schema.createIndex('module_dead_letters_at').on('module_dead_letters').column('created_at').execute()
}
