import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The users of tenants, what else is known of a tenant, and the token by which the platform administers a box's chat server. */
export const users: Migration = {
  name: '0018-users',
  async up(db) {
    for (const column of ['school_id', 'org_id', 'branding', 'payment_customer_id', 'suspended_reason', 'updated_at'])
      await db.schema.alterTable('tenants').addColumn(column, 'text').execute()
    await db.schema
      .alterTable('tenants')
      .addColumn('feature_flags', 'text', (c) => c.notNull().defaultTo('{}'))
      .execute()
    await sql`update tenants set school_id = id, org_id = id, updated_at = created_at`.execute(db)
    await db.schema.createIndex('tenants_payment_customer').unique().on('tenants').columns(['payment_customer_id']).execute()
    await db.schema
      .createTable('users')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
      .addColumn('localpart', 'text', (c) => c.notNull())
      .addColumn('display_name', 'text')
      .addColumn('locale', 'text')
      .addColumn('avatar_url', 'text')
      .addColumn('roles', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .addUniqueConstraint('users_of_tenant', ['tenant_id', 'localpart'])
      .execute()
    await db.schema
      .createTable('platform_addresses')
      .addColumn('host_id', 'text', (c) => c.primaryKey().references('hosts.id'))
      .addColumn('address', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .addColumn('updated_by', 'text', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('homeserver_tokens')
      .addColumn('box_id', 'text', (c) => c.primaryKey().references('boxes.id'))
      .addColumn('sealed', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .execute()
  },
}
