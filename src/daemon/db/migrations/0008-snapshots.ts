import type { Migration } from './migration.ts'

/** The registry of snapshots, what proved them, the restores that were asked for, and what is to be done in its turn. */
export const snapshots: Migration = {
  name: '0008-snapshots',
  async up(db) {
    // No reference to boxes or tenants: snapshots outlive both.
    await db.schema
      .createTable('snapshots')
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('snapshot_id', 'text', (c) => c.notNull())
      .addColumn('box_id', 'text', (c) => c.notNull())
      .addColumn('slug', 'text', (c) => c.notNull())
      .addColumn('tier', 'text', (c) => c.notNull())
      .addColumn('taken_at', 'text', (c) => c.notNull())
      .addColumn('command_id', 'text')
      .addColumn('sha256', 'text')
      .addColumn('added_bytes', 'bigint')
      .addColumn('files', 'integer')
      .addColumn('duration_ms', 'bigint')
      .addColumn('installed', 'text')
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('damaged_by', 'text')
      .addColumn('recorded_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('snapshots_id', ['tenant_id', 'snapshot_id'])
      .execute()
    await db.schema.createIndex('snapshots_newest').on('snapshots').columns(['taken_at', 'snapshot_id']).execute()
    await db.schema.createIndex('snapshots_by_slug').on('snapshots').columns(['slug', 'taken_at', 'snapshot_id']).execute()
    await db.schema.createIndex('snapshots_of_tenant').on('snapshots').columns(['tenant_id', 'status', 'taken_at']).execute()
    await db.schema
      .createTable('snapshot_drills')
      .addColumn('command_id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('snapshot_id', 'text', (c) => c.notNull())
      .addColumn('at', 'text', (c) => c.notNull())
      .addColumn('ok', 'integer', (c) => c.notNull())
      .addColumn('duration_ms', 'bigint')
      .addColumn('restore_ms', 'bigint')
      .addColumn('error', 'text')
      .execute()
    await db.schema.createIndex('snapshot_drills_of').on('snapshot_drills').columns(['tenant_id', 'snapshot_id', 'at']).execute()
    await db.schema.createIndex('snapshot_drills_by_snapshot').on('snapshot_drills').column('snapshot_id').execute()
    // What rollouts still refer to is asked by box.
    await db.schema.createIndex('rollout_actions_by_box').on('rollout_actions').column('box_id').execute()
    await db.schema
      .createTable('box_restores')
      .addColumn('command_id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('box_id', 'text', (c) => c.notNull())
      .addColumn('slug', 'text', (c) => c.notNull())
      .addColumn('snapshot_id', 'text', (c) => c.notNull())
      .addColumn('reason', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('asked_at', 'text', (c) => c.notNull())
      .addColumn('ended_at', 'text')
      .addColumn('duration_ms', 'bigint')
      .execute()
    await db.schema.createIndex('box_restores_of').on('box_restores').columns(['tenant_id', 'status']).execute()
    await db.schema
      .createTable('snapshot_repositories')
      .addColumn('tenant_id', 'text', (c) => c.primaryKey())
      .addColumn('tended_at', 'text')
      .addColumn('pruned_at', 'text')
      .addColumn('checked_at', 'text')
      .addColumn('data_checked_at', 'text')
      .execute()
    await db.schema
      .createTable('snapshot_turns')
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('task', 'text', (c) => c.notNull())
      .addColumn('asked_at', 'text', (c) => c.notNull())
      .addColumn('until', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('snapshot_turns_of', ['tenant_id', 'task'])
      .execute()
    await db.schema
      .createTable('snapshot_warm_copies')
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('snapshot_id', 'text', (c) => c.notNull())
      .addColumn('taken_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('snapshot_warm_copies_of', ['tenant_id', 'snapshot_id'])
      .execute()
  },
}
