import { sql } from 'kysely'
import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import { type Db, deleteInBatches } from '../db/index.ts'

const keptMs = 365 * 24 * 3_600_000

/** Deletes submissions that were rejected, or whose vendor did not answer, with the name and address of their sender, a year after their last change. */
export async function deleteOldSubmissions({ db, clock }: Readonly<{ db: Db; clock: Clock }>, signal: AbortSignal): Promise<string> {
  const before = isoIn(clock, -keptMs)
  // The index has the time of creation: it leaves out the younger submissions, whose bundles are large.
  const where = sql`status in ('rejected', 'needs-changes') and created_at < ${before} and updated_at < ${before}`
  return plural(await deleteInBatches(db, { table: 'marketplace_submissions', where, signal }), 'old submission')
}
