import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { type Db, forNoKeyUpdate, type Tx } from '../db/index.ts'

type Needs = Readonly<{ db: Db; clock: Clock; log: Logger; replica: string }>

/** How many streams a user has open, at all replicas together. */
export type StreamPlaces = Readonly<{
  /** Takes a place; what it answers gives it back. Throws RATE_LIMITED when all are taken. */
  take(userId: string): Promise<() => void>
  /** Says that this replica lives, mends what could not be written, and lets go of what replicas held that died. */
  renew(): Promise<void>
}>

const mostPerUser = 10
const atOnce = 200
/** Places of a replica that is not heard of count for so long. */
const leaseMs = 30_000
const buryAfterMs = 5 * 60_000

type Asking = Readonly<{ userId: string; answer: (isTaken: boolean) => void; fail: (error: unknown) => void }>

/**
 * What is open here is counted here; the database knows the count of each user and replica, written whenever it changed, many users in one
 * transaction. Whoever takes a place is counted with what the others have while the user is held, so never are more taken than there are. A replica
 * that dies gives its places back by its lease.
 */
export function streamPlaces(needs: Needs): StreamPlaces {
  const { db, log } = needs
  /** With those that are being asked for. */
  const open = new Map<string, number>()
  /** Whose row may not be what `open` says. */
  const due = new Set<string>()
  let asking: Asking[] = []
  let working = false

  const change = (userId: string, by: 1 | -1) => {
    const count = (open.get(userId) ?? 0) + by
    if (count > 0) open.set(userId, count)
    else open.delete(userId)
  }
  const turn = async () => {
    const counts = new Map(
      [...due]
        .sort()
        .slice(0, atOnce)
        .map((userId) => [userId, open.get(userId) ?? 0]),
    ) // always in one order
    const batch = asking.filter(({ userId }) => counts.has(userId))
    asking = asking.filter(({ userId }) => !counts.has(userId))
    for (const userId of counts.keys()) due.delete(userId)
    try {
      const tooMany = await db.transaction().execute((tx) => write(tx, needs, counts))
      for (const { userId, answer } of batch) {
        const more = tooMany.get(userId) ?? 0
        if (more > 0) change(userId, -1)
        tooMany.set(userId, more - 1)
        answer(more <= 0)
      }
    } catch (error) {
      for (const userId of counts.keys()) due.add(userId)
      // Who came meanwhile is told too: nobody works on until somebody asks again.
      for (const { userId, fail } of [...batch, ...asking.splice(0)]) {
        change(userId, -1)
        fail(error)
      }
      throw error
    }
  }
  const work = async () => {
    if (working) return
    working = true
    try {
      while (due.size > 0) await turn()
    } catch (err) {
      log.warn({ err }, 'how many event streams are open cannot be written and will be later')
    } finally {
      working = false
    }
  }
  const leave = (userId: string) => {
    change(userId, -1)
    due.add(userId)
    void work()
  }
  const take = async (userId: string) => {
    if ((open.get(userId) ?? 0) >= mostPerUser) throw full()
    change(userId, 1)
    due.add(userId)
    const isTaken = await new Promise<boolean>((answer, fail) => {
      asking.push({ userId, answer, fail })
      void work()
    })
    if (!isTaken) throw full()
    return () => leave(userId)
  }
  const renew = async () => {
    if (!(await db.transaction().execute((tx) => live(tx, needs)))) for (const userId of open.keys()) due.add(userId)
    await work()
  }
  return { take, renew }
}

const full = () =>
  problem('RATE_LIMITED', `${mostPerUser} event streams of this user are open: close one, or listen in one place for all windows`, {
    retryAfterSeconds: 15,
  })

/** Writes the counts of these users down; answers how many are too many of each, which are not written. */
async function write(tx: Tx, { clock, replica }: Needs, counts: ReadonlyMap<string, number>): Promise<Map<string, number>> {
  const users = [...counts.keys()]
  await tx.selectFrom('users').select('id').where('id', 'in', users).orderBy('id').modifyEnd(forNoKeyUpdate(tx)).execute()
  await tx
    .insertInto('stream_replicas')
    .values({ replica, lease_until: isoIn(clock, leaseMs) })
    .onConflict((c) => c.column('replica').doNothing())
    .execute()
  const elsewhere = await countElsewhere(tx, isoNow(clock), replica, users)
  const tooMany = new Map(users.map((id) => [id, Math.max(0, (counts.get(id) ?? 0) + (elsewhere.get(id) ?? 0) - mostPerUser)]))
  const rows = users.map((id) => ({ user_id: id, replica, open: Math.max(0, (counts.get(id) ?? 0) - (tooMany.get(id) ?? 0)) }))
  const [held, gone] = [rows.filter(({ open }) => open > 0), rows.filter(({ open }) => open === 0)]
  if (held.length > 0)
    await tx
      .insertInto('stream_places')
      .values(held)
      .onConflict((c) => c.columns(['user_id', 'replica']).doUpdateSet({ open: sql`excluded.open` }))
      .execute()
  const ids = gone.map(({ user_id }) => user_id)
  if (ids.length > 0) await tx.deleteFrom('stream_places').where('replica', '=', replica).where('user_id', 'in', ids).execute()
  return tooMany
}

async function countElsewhere(tx: Tx, now: string, replica: string, users: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await tx
    .selectFrom('stream_places')
    .innerJoin('stream_replicas', 'stream_replicas.replica', 'stream_places.replica')
    .select((of) => ['user_id', of.fn.sum<string | number>('open').as('open')])
    .where('user_id', 'in', users)
    .where('stream_places.replica', '<>', replica)
    .where('lease_until', '>', now)
    .groupBy('user_id')
    .execute()
  return new Map(rows.map((row) => [row.user_id, Number(row.open)]))
}

/** False when this replica was taken for dead, or is new: then nothing of what it holds may be written down. */
async function live(tx: Tx, { clock, replica }: Needs): Promise<boolean> {
  const lease_until = isoIn(clock, leaseMs)
  const { numUpdatedRows } = await tx.updateTable('stream_replicas').set({ lease_until }).where('replica', '=', replica).executeTakeFirst()
  const dead = await tx.selectFrom('stream_replicas').select('replica').where('lease_until', '<=', isoIn(clock, -buryAfterMs)).execute()
  for (const one of dead) {
    await tx.deleteFrom('stream_places').where('replica', '=', one.replica).execute()
    await tx.deleteFrom('stream_replicas').where('replica', '=', one.replica).execute()
  }
  return numUpdatedRows > 0n
}
