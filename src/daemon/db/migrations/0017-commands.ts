import type { Migration } from './migration.ts'

/**
 * What waits for one host, by its deadline. Without the deadline in it SQLite preferred the index of all that is queued: each poll looked
 * through the questions to the whole fleet.
 */
export const commandsOfHosts: Migration = {
  name: '0017-commands',
  async up(db) {
    await db.schema.createIndex('commands_of_host').on('commands').columns(['host_id', 'status', 'deadline_at']).execute()
    await db.schema.dropIndex('commands_by_host').execute()
  },
}
