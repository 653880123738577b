import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Log lines on their way from an agent to their follower; deleted as they are sent. */
export const liveLogs: Migration = {
  name: '0006-live-logs',
  async up(db) {
    await sql`create table command_lines (
      command_id text not null references commands (id) on delete cascade,
      seq integer not null,
      box_id text not null,
      batch text not null,
      primary key (command_id, seq)
    )`.execute(db)
  },
}
