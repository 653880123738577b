import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'

/** A client that was away for longer reads everything anew. */
const keptMs = 90 * 86_400_000
/** Rows per statement: others want to write too. */
const chunkSize = 1000

/** Deletes events of 90 days ago, from the front of their streams; those of rollouts have a retention of their own. Says how many. */
export async function forgetEvents({ db, clock }: Readonly<{ db: Db; clock: Clock }>, signal: AbortSignal): Promise<string> {
  const before = isoIn(clock, -keptMs)
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
 * Clocks of replicas differ a little: what lies before the newest old one is as old, so that no gap is left in a stream. The oldest are picked
 * before they are put together by stream: a database that does both at once may read every event there is, stream by stream. Each look begins
 * where the last one ended, or it would go again over what stays and over what is deleted but not cleared up yet.
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
