import type { Kysely } from 'kysely'
import type { Migration } from './migration.ts'

/** Admin accounts with their sessions, tokens and locks; signing keys; the sequence that tells replicas what was revoked. */
export const admin: Migration = {
  name: '0003-admin',
  async up(db: Kysely<unknown>) {
    await accounts(db)
    await sessions(db)
    await locks(db)
    await keys(db)
  },
}

async function accounts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('admin_accounts')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull().unique())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('password_hash', 'text')
    .addColumn('initial_password_expires_at', 'text')
    .addColumn('totp_secret', 'text')
    .addColumn('totp_confirmed_at', 'text')
    .addColumn('totp_step', 'bigint')
    .addColumn('last_login_at', 'text')
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addColumn('created_by', 'text', (c) => c.notNull())
    .execute()
  await db.schema
    .createTable('admin_recovery_codes')
    .addColumn('account_id', 'text', (c) => c.notNull().references('admin_accounts.id'))
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('used_at', 'text')
    .addPrimaryKeyConstraint('admin_recovery_codes_pk', ['account_id', 'hash'])
    .execute()
}

async function sessions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('admin_sessions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull().references('admin_accounts.id'))
    .addColumn('address', 'text', (c) => c.notNull())
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'text', (c) => c.notNull())
    .addColumn('revoked_at', 'text')
    .execute()
  await db.schema.createIndex('admin_sessions_account').on('admin_sessions').column('account_id').execute()
  await db.schema
    .createTable('api_tokens')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull().unique())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('prefix', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('account_id', 'text', (c) => c.notNull().references('admin_accounts.id'))
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'text', (c) => c.notNull())
    .addColumn('last_used_at', 'text')
    .execute()
}

async function locks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('login_failures')
    .addColumn('name_hash', 'text', (c) => c.notNull())
    .addColumn('network', 'text', (c) => c.notNull())
    .addColumn('failures', 'integer', (c) => c.notNull())
    .addColumn('forget_at', 'text', (c) => c.notNull())
    .addColumn('locked_until', 'text')
    .addPrimaryKeyConstraint('login_failures_pk', ['name_hash', 'network'])
    .execute()
  await db.schema
    .createTable('login_networks')
    .addColumn('name_hash', 'text', (c) => c.notNull())
    .addColumn('network', 'text', (c) => c.notNull())
    .addColumn('last_login_at', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('login_networks_pk', ['name_hash', 'network'])
    .execute()
}

async function keys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (c) => c.primaryKey())
    .addColumn('audience', 'text', (c) => c.notNull())
    .addColumn('generation', 'integer', (c) => c.notNull())
    .addColumn('public_jwk', 'text', (c) => c.notNull())
    .addColumn('private_jwk', 'text', (c) => c.notNull())
    .addColumn('created_at', 'text', (c) => c.notNull())
    .addColumn('sign_from', 'text', (c) => c.notNull())
    .addColumn('verify_until', 'text')
    .addUniqueConstraint('signing_keys_generation', ['audience', 'generation'])
    .execute()
  await db.schema
    .createTable('revocations')
    .addColumn('seq', 'bigint', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('created_at', 'text', (c) => c.notNull())
    .execute()
}
