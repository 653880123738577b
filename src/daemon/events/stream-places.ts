import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { type Db, forNoKeyUpdate, type Tx } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; log: Logger; replica: string }>

const mostPerUser = 10
const atOnce = 200
/** Places of a replica that is not heard of count for so long. */
const leaseMs = 30_000
const buryAfterMs = 5 * 60_000

type Asking = Readonly<{ userId: string; answer: (isTaken: boolean) => void; fail: (error: unknown) => void }>

/**
 * How many streams a user has open, at all replicas together. What is open here is counted here; the database knows the count of each user and
 * replica, written whenever it changed, many users in one transaction. Whoever takes a place is counted with what the others have while the user is
 * held, so never are more taken than there are. A replica that dies gives its places back by its lease.
 */
export class StreamPlaces {
  readonly #needs: Deps
  /** With those that are being asked for. */
  readonly #open = new Map<string, number>()
  /** Whose row may not be what `#open` says. */
  readonly #due = new Set<string>()
  #asking: Asking[] = []
  #working = false

  constructor(deps: Deps) {
    this.#needs = deps
  }

  /** Takes a place; what it answers gives it back. Throws RATE_LIMITED when all are taken. */
  async take(userId: string): Promise<() => void> {
    if ((this.#open.get(userId) ?? 0) >= mostPerUser) throw full()
    this.#change(userId, 1)
    this.#due.add(userId)
    const isTaken = await new Promise<boolean>((answer, fail) => {
      this.#asking.push({ userId, answer, fail })
      void this.#work()
    })
    if (!isTaken) throw full()
    return () => this.#leave(userId)
  }

  /** Says that this replica lives, mends what could not be written, and lets go of what replicas held that died. */
  async renew(): Promise<void> {
    const isKnown = await this.#needs.db.transaction().execute((tx) => live(tx, this.#needs))
    if (!isKnown) for (const userId of this.#open.keys()) this.#due.add(userId)
    await this.#work()
  }

  #leave(userId: string): void {
    this.#change(userId, -1)
    this.#due.add(userId)
    void this.#work()
  }

  #change(userId: string, by: 1 | -1): void {
    const count = (this.#open.get(userId) ?? 0) + by
    if (count > 0) this.#open.set(userId, count)
    else this.#open.delete(userId)
  }

  async #work(): Promise<void> {
    if (this.#working) return
    this.#working = true
    try {
      while (this.#due.size > 0) await this.#turn()
    } catch (err) {
      this.#needs.log.warn({ err }, 'how many event streams are open cannot be written and will be later')
    } finally {
      this.#working = false
    }
  }

  /** Some of those that are due, always in one order: others lock the same users. */
  async #turn(): Promise<void> {
    const users = [...this.#due].sort().slice(0, atOnce)
    const counts = new Map(users.map((userId) => [userId, this.#open.get(userId) ?? 0]))
    const batch = this.#asking.filter(({ userId }) => counts.has(userId))
    this.#asking = this.#asking.filter(({ userId }) => !counts.has(userId))
    for (const userId of users) this.#due.delete(userId)
    try {
      this.#answer(batch, await this.#needs.db.transaction().execute((tx) => write(tx, this.#needs, counts)))
    } catch (error) {
      for (const userId of users) this.#due.add(userId)
      // Who came meanwhile is told too: nobody works on until somebody asks again.
      this.#fail([...batch, ...this.#asking.splice(0)], error)
      throw error
    }
  }

  #answer(batch: readonly Asking[], tooMany: Map<string, number>): void {
    for (const { userId, answer } of batch) {
      const more = tooMany.get(userId) ?? 0
      if (more > 0) this.#change(userId, -1)
      tooMany.set(userId, more - 1)
      answer(more <= 0)
    }
  }

  #fail(batch: readonly Asking[], error: unknown): void {
    for (const { userId, fail } of batch) {
      this.#change(userId, -1)
      fail(error)
    }
  }
}

const full = () =>
  problem('RATE_LIMITED', `${mostPerUser} event streams of this user are open: close one, or listen in one place for all windows`, {
    retryAfterSeconds: 15,
  })

/** Writes the counts of these users down; answers how many are too many of each, which are not written. */
async function write(tx: Tx, { clock, replica }: Deps, counts: ReadonlyMap<string, number>): Promise<Map<string, number>> {
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
  await store(tx, replica, rows)
  return tooMany
}

type Row = Readonly<{ user_id: string; replica: string; open: number }>

async function store(tx: Tx, replica: string, rows: readonly Row[]): Promise<void> {
  const held = rows.filter(({ open }) => open > 0)
  const gone = rows.filter(({ open }) => open === 0).map(({ user_id }) => user_id)
  if (held.length > 0)
    await tx
      .insertInto('stream_places')
      .values(held)
      .onConflict((c) => c.columns(['user_id', 'replica']).doUpdateSet({ open: sql`excluded.open` }))
      .execute()
  if (gone.length > 0) await tx.deleteFrom('stream_places').where('replica', '=', replica).where('user_id', 'in', gone).execute()
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
async function live(tx: Tx, { clock, replica }: Deps): Promise<boolean> {
  const lease_until = isoIn(clock, leaseMs)
  const { numUpdatedRows } = await tx.updateTable('stream_replicas').set({ lease_until }).where('replica', '=', replica).executeTakeFirst()
  const dead = await tx.selectFrom('stream_replicas').select('replica').where('lease_until', '<=', isoIn(clock, -buryAfterMs)).execute()
  for (const one of dead) {
    await tx.deleteFrom('stream_places').where('replica', '=', one.replica).execute()
    await tx.deleteFrom('stream_replicas').where('replica', '=', one.replica).execute()
  }
  return numUpdatedRows > 0n
}
