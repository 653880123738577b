import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The password of an erased user cannot be set, so the user is not counted among those without one. */
export const erasedPasswords: Migration = {
  name: '0080-erased-passwords',
  async up(db) {
    await sql`update users set password_unknown_since = null where status = 'erased'`.execute(db)
  },
}
