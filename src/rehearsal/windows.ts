import { type Clock, isoNow } from '../core/kit/index.ts'
import { type Db, prepared } from '../daemon/db/index.ts'

/** When the next box that waits for its window may go, on the clock's own count. */
export async function nextOpeningMs(db: Db, clock: Clock & { monotonicMs(): number }, rolloutId: string): Promise<number | undefined> {
  const [row] = (await opening(db, { rolloutId, now: isoNow(clock) })).rows
  return row?.opens ? clock.monotonicMs() + Date.parse(row.opens) - clock.now().getTime() : undefined
}

const opening = prepared<{ rolloutId: string; now: string }, { opens: string | null }>((db, place) =>
  db
    .selectFrom('rollout_actions')
    .select((select) => select.fn.min('waits_until').as('opens'))
    .where('rollout_id', '=', place('rolloutId'))
    .where('status', '=', 'pending')
    .where('waits_until', '>', place('now')),
)
