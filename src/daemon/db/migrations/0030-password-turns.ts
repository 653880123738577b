import type { Migration } from './migration.ts'

/** Who writes a user's chat password has a turn: it counts up when one begins and when it ends. */
export const passwordTurns: Migration = {
  name: '0030-password-turns',
  async up(db) {
    await db.schema
      .alterTable('users')
      .addColumn('password_turn', 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
    await db.schema.alterTable('users').addColumn('password_turn_until', 'text').execute()
  },
}
