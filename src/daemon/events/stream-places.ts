import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { type Db, forNoKeyUpdate, type Tx } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; log: Logger; replica: string }>

const maxPerUser = 10
const atOnce = 200
/** Slots of a replica count until its lease expires. */
const leaseMs = 30_000
const deleteAfterMs = 5 * 60_000

type PendingSlot = Readonly<{ userId: string; answer: (isTaken: boolean) => void; fail: (error: unknown) => void }>

/**
 * Limits the open streams per user over all replicas. Each replica counts its own streams in memory and writes changed counts in batches. A new
 * slot is checked against the other replicas under a row lock on the user. The slots of a dead replica expire with its lease.
 */
export class StreamPlaces {
  readonly #deps: Deps
  /** Open streams by user, including pending requests. */
  readonly #open = new Map<string, number>()
  /** Users whose stored count may differ from `#open`. */
  readonly #due = new Set<string>()
  #pending: PendingSlot[] = []
  #working = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Takes a slot and returns its release function. Throws RATE_LIMITED if all are taken. */
  async take(userId: string): Promise<() => void> {
    if ((this.#open.get(userId) ?? 0) >= maxPerUser) throw full()
    this.#change(userId, 1)
    this.#due.add(userId)
    const isTaken = await new Promise<boolean>((answer, fail) => {
      this.#pending.push({ userId, answer, fail })
      void this.#flush()
    })
    if (!isTaken) throw full()
    return () => this.#leave(userId)
  }

  /** Renews the lease of this replica, retries failed writes, and releases the slots of dead replicas. */
  async renew(): Promise<void> {
    const isKnown = await this.#deps.db.transaction().execute((tx) => live(tx, this.#deps))
    if (!isKnown) for (const userId of this.#open.keys()) this.#due.add(userId)
    await this.#flush()
  }

  #leave(userId: string): void {
    this.#change(userId, -1)
    this.#due.add(userId)
    void this.#flush()
  }

  #change(userId: string, by: 1 | -1): void {
    const count = (this.#open.get(userId) ?? 0) + by
    if (count > 0) this.#open.set(userId, count)
    else this.#open.delete(userId)
  }

  async #flush(): Promise<void> {
    if (this.#working) return
    this.#working = true
    try {
      while (this.#due.size > 0) await this.#writeBatch()
    } catch (err) {
      this.#deps.log.warn({ err }, 'writing event stream counts failed; retrying')
    } finally {
      this.#working = false
    }
  }

  /** Writes one batch, in the order of user ids to avoid deadlocks. */
  async #writeBatch(): Promise<void> {
    const users = [...this.#due].sort().slice(0, atOnce)
    const counts = new Map(users.map((userId) => [userId, this.#open.get(userId) ?? 0]))
    const batch = this.#pending.filter(({ userId }) => counts.has(userId))
    this.#pending = this.#pending.filter(({ userId }) => !counts.has(userId))
    for (const userId of users) this.#due.delete(userId)
    try {
      this.#answer(batch, await this.#deps.db.transaction().execute((tx) => write(tx, this.#deps, counts)))
    } catch (error) {
      for (const userId of users) this.#due.add(userId)
      // Requests that arrived meanwhile fail too: the loop stops here.
      this.#fail([...batch, ...this.#pending.splice(0)], error)
      throw error
    }
  }

  #answer(batch: readonly PendingSlot[], tooMany: Map<string, number>): void {
    for (const { userId, answer } of batch) {
      const more = tooMany.get(userId) ?? 0
      if (more > 0) this.#change(userId, -1)
      tooMany.set(userId, more - 1)
      answer(more <= 0)
    }
  }

  #fail(batch: readonly PendingSlot[], error: unknown): void {
    for (const { userId, fail } of batch) {
      this.#change(userId, -1)
      fail(error)
    }
  }
}

const full = () =>
  problem('RATE_LIMITED', `${maxPerUser} event streams of this user are open, which is the limit. fix: close one`, {
    retryAfterSeconds: 15,
  })

/** Writes the counts of users; returns the excess per user, which is not written. */
async function write(tx: Tx, { clock, replica }: Deps, counts: ReadonlyMap<string, number>): Promise<Map<string, number>> {
  const users = [...counts.keys()]
  await tx.selectFrom('users').select('id').where('id', 'in', users).orderBy('id').modifyEnd(forNoKeyUpdate(tx)).execute()
  await tx
    .insertInto('stream_replicas')
    .values({ replica, lease_until: isoIn(clock, leaseMs) })
    .onConflict((c) => c.column('replica').doNothing())
    .execute()
  const elsewhere = await countElsewhere(tx, { now: isoNow(clock), replica, users })
  const tooMany = new Map(users.map((id) => [id, Math.max(0, (counts.get(id) ?? 0) + (elsewhere.get(id) ?? 0) - maxPerUser)]))
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

async function countElsewhere(
  tx: Tx,
  { now, replica, users }: Readonly<{ now: string; replica: string; users: readonly string[] }>,
): Promise<ReadonlyMap<string, number>> {
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

/** Renews the lease. False if this replica is new or was deleted as dead: then no count of it is stored. */
async function live(tx: Tx, { clock, replica }: Deps): Promise<boolean> {
  const lease_until = isoIn(clock, leaseMs)
  const { numUpdatedRows } = await tx.updateTable('stream_replicas').set({ lease_until }).where('replica', '=', replica).executeTakeFirst()
  const dead = await tx.selectFrom('stream_replicas').select('replica').where('lease_until', '<=', isoIn(clock, -deleteAfterMs)).execute()
  for (const one of dead) {
    await tx.deleteFrom('stream_places').where('replica', '=', one.replica).execute()
    await tx.deleteFrom('stream_replicas').where('replica', '=', one.replica).execute()
  }
  return numUpdatedRows > 0n
}
