import type { Migration } from './migration.ts'

/** Which versions an emergency was about: what goes below them has its hole again. */
export const fixes: Migration = {
  name: '0035-fixes',
  async up(db) {
    await db.schema.alterTable('rollouts').addColumn('fixes', 'text').execute()
  },
}
