import type { Migration } from './migration.ts'

/** Triggers of published boards, what they saw, and how far events and messages were read. */
export const triggers: Migration = {
  name: '0042-triggers',
  async up(db) {
    await db.schema
      .createTable('board_triggers')
      .addColumn('board_id', 'text', (c) => c.notNull().references('boards.id'))
      .addColumn('trigger_id', 'text', (c) => c.notNull())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('space_id', 'text')
      .addColumn('room_id', 'text')
      .addColumn('config', 'text', (c) => c.notNull())
      .addColumn('roles', 'text', (c) => c.notNull())
      .addColumn('served_until', 'text')
      .addColumn('next_at', 'text')
      .addColumn('time_zone', 'text')
      .addPrimaryKeyConstraint('board_triggers_pk', ['board_id', 'trigger_id'])
      .execute()
    await db.schema.createIndex('board_triggers_of').on('board_triggers').columns(['tenant_id', 'kind', 'board_id', 'trigger_id']).execute()
    await db.schema.createIndex('board_triggers_next').on('board_triggers').column('next_at').where('next_at', 'is not', null).execute()
    await db.schema
      .createTable('trigger_occurrences')
      .addColumn('board_id', 'text', (c) => c.notNull().references('boards.id'))
      .addColumn('occurrence', 'text', (c) => c.notNull())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('trigger_id', 'text', (c) => c.notNull())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('outcome', 'text', (c) => c.notNull())
      .addColumn('run_id', 'text')
      .addColumn('depth', 'integer', (c) => c.notNull())
      .addColumn('room_id', 'text')
      .addColumn('reason', 'text')
      .addColumn('at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('trigger_occurrences_pk', ['board_id', 'occurrence'])
      .execute()
    await db.schema
      .createIndex('trigger_occurrences_newest')
      .on('trigger_occurrences')
      .columns(['tenant_id', 'board_id', 'at', 'occurrence'])
      .execute()
    await db.schema
      .createIndex('trigger_occurrences_run')
      .on('trigger_occurrences')
      .column('run_id')
      .where('run_id', 'is not', null)
      .execute()
    await db.schema.createIndex('trigger_occurrences_at').on('trigger_occurrences').column('at').execute()
    await db.schema
      .createTable('trigger_positions')
      .addColumn('tenant_id', 'text', (c) => c.primaryKey().references('tenants.id'))
      .addColumn('seq', 'integer', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('chat_readers')
      .addColumn('tenant_id', 'text', (c) => c.primaryKey().references('tenants.id'))
      .addColumn('box_id', 'text')
      .addColumn('since', 'text')
      .addColumn('read_from', 'text', (c) => c.notNull())
      .addColumn('revision', 'integer', (c) => c.notNull())
      .execute()
  },
}
