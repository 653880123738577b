import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'

const retentionMs = 90 * 24 * 60 * 60_000

/** Deletes alerts closed or acknowledged 90 days ago, with their messages, and dead jobs of that age. Open alerts stay. Returns a summary. */
export async function deleteOldAlerts({ db, clock }: { db: Db; clock: Clock }): Promise<string> {
  const before = isoIn(clock, -retentionMs)
  const alerts = await db
    .deleteFrom('alerts')
    .where('status', 'in', ['acknowledged', 'closed'])
    .where('last_at', '<=', before)
    .where(({ or, eb }) => or([eb('closed_at', '<=', before), eb('acknowledged_at', '<=', before)]))
    .executeTakeFirst()
  const letters = await db.deleteFrom('jobs').where('status', '=', 'dead').where('next_at', '<=', before).executeTakeFirst()
  return `${plural(Number(alerts.numDeletedRows), 'alert')}, ${plural(Number(letters.numDeletedRows), 'dead letter')}`
}
