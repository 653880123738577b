import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'

const keptMs = 90 * 24 * 60 * 60_000

/** What is over or was seen to 90 days ago, with its messages, and as old follow-up work that nobody wanted back; open alerts stay. Says what it was. */
export async function forgetAlerts({ db, clock }: { db: Db; clock: Clock }): Promise<string> {
  const before = isoIn(clock, -keptMs)
  const alerts = await db
    .deleteFrom('alerts')
    .where('status', 'in', ['acknowledged', 'closed'])
    .where('last_at', '<=', before)
    .where(({ or, eb }) => or([eb('closed_at', '<=', before), eb('acknowledged_at', '<=', before)]))
    .executeTakeFirst()
  const letters = await db.deleteFrom('outbox').where('status', '=', 'dead').where('next_at', '<=', before).executeTakeFirst()
  return `${plural(Number(alerts.numDeletedRows), 'alert')}, ${plural(Number(letters.numDeletedRows), 'dead letter')}`
}
