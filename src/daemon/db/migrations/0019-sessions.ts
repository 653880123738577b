import type { Kysely } from 'kysely'
import type { Migration } from './migration.ts'

/** Sessions of tenants' users with their refresh tokens, and what guards their logins. */
export const sessions: Migration = {
  name: '0019-sessions',
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('sessions')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
      .addColumn('user_id', 'text', (c) => c.notNull().references('users.id'))
      .addColumn('device_name', 'text', (c) => c.notNull())
      .addColumn('network', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('used_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addColumn('ended_at', 'text')
      .addColumn('ended_by', 'text')
      .execute()
    await db.schema.createIndex('sessions_of_user').on('sessions').columns(['user_id', 'created_at']).execute()
    await db.schema.createIndex('sessions_of_tenant').on('sessions').columns(['tenant_id', 'created_at']).execute()
    await db.schema.createIndex('sessions_by_expiry').on('sessions').column('expires_at').execute()
    await refreshTokens(db)
    await guards(db)
  },
}

async function refreshTokens(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('refresh_tokens')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('session_id', 'text', (c) => c.notNull().references('sessions.id'))
    .addColumn('parent_hash', 'text')
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'text', (c) => c.notNull())
    .addColumn('used_at', 'text')
    .execute()
  await db.schema.createIndex('refresh_tokens_of_session').on('refresh_tokens').column('session_id').execute()
  await db.schema.createIndex('refresh_tokens_of_parent').on('refresh_tokens').column('parent_hash').execute()
}

async function guards(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('user_login_failures')
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('network', 'text', (c) => c.notNull())
    .addColumn('failures', 'integer', (c) => c.notNull())
    .addColumn('pending', 'integer', (c) => c.notNull())
    .addColumn('pending_at', 'text', (c) => c.notNull())
    .addColumn('until', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('user_login_failures_pk', ['subject', 'network'])
    .execute()
  await db.schema.createIndex('user_login_failures_until').on('user_login_failures').column('until').execute()
  await db.schema
    .createTable('user_login_networks')
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('network', 'text', (c) => c.notNull())
    .addColumn('last_login_at', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('user_login_networks_pk', ['subject', 'network'])
    .execute()
  await db.schema.createIndex('user_login_networks_last').on('user_login_networks').column('last_login_at').execute()
}
