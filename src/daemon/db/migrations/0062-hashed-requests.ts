import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Requests with a key are stored as hashes: their texts had drawn signatures, also of erased users. Earlier keys are no longer known. */
export const hashedRequests: Migration = {
  name: '0062-hashed-requests',
  async up(db) {
    await sql`update run_history set key = null, request = null, answer = null where request is not null`.execute(db)
  },
}
