import type { Migration } from './migration.ts'

/** Sessions of the web console: found by the hash of their cookie, ended when idle. */
export const consoleSessions: Migration = {
  name: '0055-console-sessions',
  async up(db) {
    await db.schema.alterTable('admin_sessions').addColumn('cookie_hash', 'text').execute()
    await db.schema.alterTable('admin_sessions').addColumn('last_used_at', 'text').execute()
    await db.schema.createIndex('admin_sessions_cookie').unique().on('admin_sessions').column('cookie_hash').execute()
  },
}
