import type { Migration } from './migration.ts'

/** Whether an app installed its module: only then the end of the app ends it. Unknown for rows that exist; they end as before. */
export const ownedModules: Migration = {
  name: '0061-owned-modules',
  async up(db) {
    await db.schema
      .alterTable('marketplace_subscriptions')
      .addColumn('owns_module', 'integer', (c) => c.notNull().defaultTo(1))
      .execute()
  },
}
