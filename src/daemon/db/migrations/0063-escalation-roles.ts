import type { Migration } from './migration.ts'

/** The role that an element was escalated to follows from the board; nothing reads this copy. */
export const escalationRoles: Migration = {
  name: '0063-escalation-roles',
  async up(db) {
    await db.schema.alterTable('run_elements').dropColumn('escalation_role').execute()
  },
}
