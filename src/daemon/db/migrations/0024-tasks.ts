import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** What has to be done in tenants. */
export const tasks: Migration = {
  name: '0024-tasks',
  async up(db) {
    await db.schema
      .createTable('tasks')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
      .addColumn('external_id', 'text')
      .addColumn('event_id', 'text')
      .addColumn('space_id', 'text')
      .addColumn('run_id', 'text')
      .addColumn('title', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('assigned_role', 'text')
      .addColumn('role_key', 'text')
      .addColumn('assignee_id', 'text', (c) => c.references('users.id'))
      .addColumn('due_at', 'text')
      .addColumn('escalation_level', 'integer', (c) => c.notNull())
      .addColumn('escalated_at', 'text')
      .addColumn('created_by', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .execute()
    // Nulls differ from each other in a unique index: tasks of no event would not be told apart, those without a name of their own need not be.
    await sql`create unique index tasks_external on tasks (tenant_id, coalesce(event_id, ''), external_id)`.execute(db)
    await db.schema.createIndex('tasks_newest').on('tasks').columns(['tenant_id', 'created_at', 'id']).execute()
    await db.schema.createIndex('tasks_of_assignee').on('tasks').columns(['tenant_id', 'assignee_id', 'status']).execute()
    await db.schema.createIndex('tasks_of_role').on('tasks').columns(['tenant_id', 'role_key', 'status']).execute()
    await db.schema.createIndex('tasks_by_end').on('tasks').columns(['status', 'updated_at']).execute()
  },
}
