import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'

/** A client that was disconnected for longer gets a reset. */
const retentionMs = 90 * 86_400_000
/** Rows per statement, so that writers are not blocked. */
const chunkSize = 1000

/** Deletes events older than 90 days from the front of their streams, except rollout events. Returns a summary. */
export async function forgetEvents({ db, clock }: Readonly<{ db: Db; clock: Clock }>, signal: AbortSignal): Promise<string> {
  const before = isoIn(clock, -retentionMs)
  let deleted = 0
  for (let after = ''; !signal.aborted; ) {
    const old = await oldStreams(db, { after, before })
    if (old.length === 0) break
    for (const one of old)
      for (let gone = chunkSize; gone >= chunkSize && !signal.aborted; deleted += gone) gone = await forgetSome(db, one)
    after = old.map(({ at }) => at).reduce((one, other) => (one > other ? one : other))
  }
  return `${plural(deleted, 'event')} of tenants and of the fleet`
}

type Old = Readonly<{ stream: string; upTo: number; at: string }>

/**
 * Finds the oldest events by stream. All events before an old one in its stream are deleted too, so that clock skew leaves no gaps. The subquery
 * limits before grouping, because a combined query may scan all events; each query starts where the last ended, to skip dead rows.
 */
async function oldStreams(db: Db, { after, before }: Readonly<{ after: string; before: string }>): Promise<Old[]> {
  const oldest = db
    .selectFrom('events')
    .select(['stream', 'seq', 'created_at'])
    .where('created_at', '>=', after)
    .where('created_at', '<=', before)
    .where('stream', 'not like', 'rollout:%')
    .orderBy('created_at')
    .limit(chunkSize)
    .as('oldest')
  const rows = await db
    .selectFrom(oldest)
    .select(({ fn }) => ['stream', fn.max('seq').as('seq'), fn.max('created_at').as('at')])
    .groupBy('stream')
    .execute()
  return rows.map(({ stream, seq, at }) => ({ stream, upTo: Number(seq), at }))
}

async function forgetSome(db: Db, { stream, upTo }: Old): Promise<number> {
  const oldest = db.selectFrom('events').select('seq').where('stream', '=', stream).where('seq', '<=', upTo).orderBy('seq').limit(chunkSize)
  const { numDeletedRows } = await db.deleteFrom('events').where('stream', '=', stream).where('seq', 'in', oldest).executeTakeFirst()
  return Number(numDeletedRows)
}
