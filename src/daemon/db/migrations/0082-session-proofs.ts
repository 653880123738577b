import type { Migration } from './migration.ts'

/** When a session last gave password and code. Open sessions are asked again. */
export const sessionProofs: Migration = {
  name: '0082-session-proofs',
  async up(db) {
    await db.schema.alterTable('admin_sessions').addColumn('proven_at', 'text').execute()
  },
}
