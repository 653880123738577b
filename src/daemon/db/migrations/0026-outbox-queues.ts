import type { Migration } from './migration.ts'

/** Follow-up work waits in queues, each worked on by one process at a time; members whom the chat refuses are seen. */
export const outboxQueues: Migration = {
  name: '0026-outbox-queues',
  async up(db) {
    await db.schema
      .createTable('outbox_queues')
      .addColumn('queue', 'text', (c) => c.primaryKey())
      .addColumn('lane', 'text', (c) => c.notNull())
      .addColumn('due_at', 'text', (c) => c.notNull())
      .addColumn('held', 'integer', (c) => c.notNull())
      .addColumn('turn', 'bigint', (c) => c.notNull())
      .addColumn('failures', 'integer', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('outbox_queues_due').on('outbox_queues').columns(['lane', 'due_at']).execute()
    // Null in what a daemon of an older version notes meanwhile: it waits in a queue named like its topic.
    for (const column of ['lane', 'queue', 'key']) await db.schema.alterTable('outbox').addColumn(column, 'text').execute()
    // By status alone a planner would look through all that waits for the few rows of one queue.
    await db.schema.dropIndex('outbox_due').execute()
    await db.schema.createIndex('outbox_status').on('outbox').columns(['status', 'id']).execute()
    await db.schema.createIndex('outbox_turn').on('outbox').columns(['queue', 'status', 'attempts', 'next_at', 'id']).execute()
    await db.schema.createIndex('outbox_order').on('outbox').columns(['queue', 'key', 'id']).execute()
    await db.schema.alterTable('space_members').addColumn('chat_refused_at', 'text').execute()
  },
}
