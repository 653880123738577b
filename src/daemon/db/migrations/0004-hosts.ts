import type { Migration } from './migration.ts'

/** Hosts, their enrolment tokens, and the commands that their agents fetch. */
export const hosts: Migration = {
  name: '0004-hosts',
  async up(db) {
    await db.schema
      .createTable('hosts')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('name', 'text', (c) => c.notNull().unique())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('reason', 'text')
      .addColumn('key_id', 'text', (c) => c.notNull().unique())
      .addColumn('public_key', 'text', (c) => c.notNull())
      .addColumn('instance_id', 'text')
      .addColumn('retired_instances', 'text', (c) => c.notNull())
      .addColumn('enrolled_at', 'text', (c) => c.notNull())
      .addColumn('last_seen_at', 'text')
      .addColumn('agent_version', 'text')
      .addColumn('protocol_version', 'integer')
      .addColumn('engine', 'text')
      .addColumn('resources', 'text')
      .execute()
    await db.schema
      .createTable('host_invites')
      .addColumn('token_sha256', 'text', (c) => c.primaryKey())
      .addColumn('host_name', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addColumn('used_at', 'text')
      .addColumn('used_by_key_id', 'text')
      .execute()
    await db.schema
      .createTable('commands')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id'))
      .addColumn('box_id', 'text', (c) => c.notNull())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('payload', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('lease_token', 'integer', (c) => c.notNull())
      .addColumn('lease_until', 'text')
      .addColumn('heard_at', 'text')
      .addColumn('revision', 'integer', (c) => c.notNull())
      .addColumn('progress', 'text', (c) => c.notNull())
      .addColumn('result', 'text')
      .addColumn('error', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('deadline_at', 'text', (c) => c.notNull())
      .addColumn('started_at', 'text')
      .addColumn('finished_at', 'text')
      .execute()
    await db.schema.createIndex('commands_by_host').on('commands').columns(['host_id', 'status']).execute()
    await db.schema.createIndex('commands_by_box').on('commands').columns(['box_id', 'status']).execute()
    await db.schema.createIndex('commands_by_status').on('commands').columns(['status', 'deadline_at']).execute()
  },
}
