import type { Migration } from './migration.ts'

/** The host of a service, which tenants consent to, and an index for dead letters of a module. */
export const moduleServices: Migration = {
  name: '0049-module-services',
  async up(db) {
    await db.schema.alterTable('module_upstreams').addColumn('host', 'text').execute()
    const index = db.schema.createIndex('module_dead_letters_of_module').on('module_dead_letters')
    await index.columns(['module_id', 'created_at', 'id']).execute()
  },
}
