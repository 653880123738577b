import type { Migration } from './migration.ts'

/** The object of a file, if its id is not that of the file. */
export const fileObjects: Migration = {
  name: '0085-file-objects',
  async up(db) {
    await db.schema.alterTable('files').addColumn('object_id', 'text').execute()
  },
}
