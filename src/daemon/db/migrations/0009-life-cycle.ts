import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** What befalls boxes beside updates: maintenance, fences that stand too long, moves between hosts, removal. */
export const lifeCycle: Migration = {
  name: '0009-life-cycle',
  async up(db) {
    const added = ['maintenance_by', 'maintenance_reason', 'maintenance_since', 'maintenance_command']
    for (const column of [...added, 'fence_holder', 'fence_since', 'fence_overdue_at', 'removal'])
      await db.schema.alterTable('boxes').addColumn(column, 'text').execute()
    await db.schema
      .createTable('box_moves')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('box_id', 'text', (c) => c.notNull().references('boxes.id'))
      .addColumn('from_host_id', 'text', (c) => c.notNull())
      .addColumn('to_host_id', 'text', (c) => c.notNull())
      .addColumn('from_first_port', 'integer')
      .addColumn('to_first_port', 'integer', (c) => c.notNull())
      .addColumn('from_copy', 'integer', (c) => c.notNull())
      .addColumn('to_copy', 'integer', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('old_host_dead', 'integer', (c) => c.notNull())
      .addColumn('epoch', 'integer', (c) => c.notNull())
      .addColumn('snapshot_id', 'text')
      .addColumn('snapshot_sha256', 'text')
      .addColumn('snapshot_at', 'text')
      .addColumn('reason', 'text', (c) => c.notNull())
      .addColumn('asked_by', 'text', (c) => c.notNull())
      .addColumn('orders', 'integer', (c) => c.notNull())
      .addColumn('command_id', 'text')
      .addColumn('error', 'text')
      .addColumn('started_at', 'text', (c) => c.notNull())
      .addColumn('changed_at', 'text', (c) => c.notNull())
      .addColumn('keep_until', 'text')
      .addColumn('finished_at', 'text')
      .execute()
    await sql`create unique index box_moves_open on box_moves (box_id) where finished_at is null`.execute(db)
    await sql`create unique index box_moves_ports on box_moves (to_host_id, to_first_port) where to_copy = 1`.execute(db)
    await db.schema.createIndex('box_moves_of').on('box_moves').columns(['box_id', 'started_at']).execute()
    await db.schema
      .createTable('box_removals')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('box_id', 'text', (c) => c.notNull().references('boxes.id'))
      .addColumn('host_id', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('epoch', 'integer', (c) => c.notNull())
      .addColumn('snapshot_id', 'text')
      .addColumn('erase_now', 'integer', (c) => c.notNull())
      .addColumn('reason', 'text', (c) => c.notNull())
      .addColumn('asked_by', 'text', (c) => c.notNull())
      .addColumn('orders', 'integer', (c) => c.notNull())
      .addColumn('command_id', 'text')
      .addColumn('error', 'text')
      .addColumn('started_at', 'text', (c) => c.notNull())
      .addColumn('changed_at', 'text', (c) => c.notNull())
      .addColumn('keep_until', 'text')
      .addColumn('finished_at', 'text')
      .execute()
    await sql`create unique index box_removals_open on box_removals (box_id) where finished_at is null`.execute(db)
    await db.schema.createIndex('box_removals_of').on('box_removals').columns(['box_id', 'started_at']).execute()
  },
}
