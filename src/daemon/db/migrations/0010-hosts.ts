import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Keys that rotate, what of a machine is in use, how far its clock is off, and how images are pulled. */
export const hostCare: Migration = {
  name: '0010-hosts',
  async up(db) {
    for (const column of ['key_since', 'next_key_id', 'next_public_key', 'next_key_at', 'resources_at'])
      await db.schema.alterTable('hosts').addColumn(column, 'text').execute()
    await db.schema.alterTable('hosts').addColumn('clock_offset_ms', 'bigint').execute()
    await sql`update hosts set key_since = enrolled_at`.execute(db)
    await db.schema.createIndex('hosts_by_next_key').on('hosts').column('next_key_id').unique().execute()
    await db.schema
      .createTable('registries')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('host_id', 'text', (c) => c.references('hosts.id'))
      .addColumn('registry', 'text', (c) => c.notNull())
      .addColumn('mirror', 'text')
      .addColumn('username', 'text')
      .addColumn('sealed_password', 'text')
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .addColumn('updated_by', 'text', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('commands_by_end').on('commands').column('finished_at').execute()
  },
}
