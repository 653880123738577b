import { sql } from 'kysely'
import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { type Db, forNoKeyUpdate, type Tx } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; log: Logger; replica: string }>

const maxPerUser = 10
const atOnce = 200
const usersPerQuestion = 500
/** Slots of a replica count until its lease expires. */
const leaseMs = 30_000
const deleteAfterMs = 5 * 60_000

/** The slot of one stream. */
export type Place = {
  readonly userId: string
  /** True once a newer stream of the user has the slot. */
  isEnded: boolean
  /** Called when a newer stream of the user needs the slot. */
  end: () => void
}

type Pending = Readonly<{ place: Place; answer: () => void; fail: (error: unknown) => void }>

/**
 * Limits the open streams per user over all replicas: a further stream ends the user's oldest one, because only the other end could close it, and the
 * other end of a lost connection does not. Each replica counts its own streams in memory and writes changed counts in batches, under a row lock on
 * the user. A replica whose stored count another replica has lowered ends its oldest streams. The slots of a dead replica expire with its lease.
 */
export class StreamPlaces {
  readonly #deps: Deps
  /** Open streams by user, oldest first, including pending requests. */
  readonly #open = new Map<string, Set<Place>>()
  /** Users whose stored count may differ from `#open`. */
  readonly #due = new Set<string>()
  #pending: Pending[] = []
  #working = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Takes a slot. */
  async take(userId: string): Promise<Place> {
    const place: Place = { userId, isEnded: false, end: () => undefined }
    const places = this.#open.get(userId) ?? new Set()
    this.#open.set(userId, places.add(place))
    this.#due.add(userId)
    await new Promise<void>((answer, fail) => {
      this.#pending.push({ place, answer, fail })
      void this.#flush()
    })
    return place
  }

  /** Releases a slot. */
  leave(place: Place): void {
    if (!this.#remove(place)) return
    this.#due.add(place.userId)
    void this.#flush()
  }

  /** Renews the lease of this replica, retries failed writes, releases the slots of dead replicas, and ends streams that others have replaced. */
  async renew(): Promise<void> {
    const { db, replica } = this.#deps
    const isKnown = await db.transaction().execute((tx) => live(tx, this.#deps))
    const users = [...this.#open.keys()]
    for (let n = 0; n < users.length; n += usersPerQuestion) {
      const some = users.slice(n, n + usersPerQuestion)
      const stored = isKnown ? await storedCounts(db, replica, some) : new Map()
      for (const userId of some) if (stored.get(userId) !== this.#open.get(userId)?.size) this.#due.add(userId)
    }
    await this.#flush()
  }

  #remove(place: Place): boolean {
    const places = this.#open.get(place.userId)
    if (!places?.delete(place)) return false
    if (places.size === 0) this.#open.delete(place.userId)
    return true
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
    const batch = this.#pending.filter(({ place }) => users.includes(place.userId))
    this.#pending = this.#pending.filter((one) => !batch.includes(one))
    const opening = new Set(batch.map(({ place }) => place.userId))
    const counts = users.map((userId) => ({ userId, open: this.#open.get(userId)?.size ?? 0, isOpening: opening.has(userId) }))
    for (const userId of users) this.#due.delete(userId)
    try {
      const shares = await this.#deps.db.transaction().execute((tx) => write(tx, this.#deps, counts))
      for (const [userId, share] of shares) this.#endOldest(userId, share)
      for (const { answer } of batch) answer()
    } catch (error) {
      for (const userId of users) this.#due.add(userId)
      // Requests that arrived meanwhile fail too: the loop stops here.
      this.#fail([...batch, ...this.#pending.splice(0)], error)
      throw error
    }
  }

  #endOldest(userId: string, share: number): void {
    const places = [...(this.#open.get(userId) ?? [])]
    for (const place of places.slice(0, Math.max(0, places.length - share))) {
      this.#remove(place)
      place.isEnded = true
      place.end()
    }
  }

  #fail(batch: readonly Pending[], error: unknown): void {
    for (const { place, fail } of batch) {
      this.#remove(place)
      fail(error)
    }
  }
}

/** `isOpening`: one of the open streams is new. */
type Count = Readonly<{ userId: string; open: number; isOpening: boolean }>

/** Writes the counts of users, at most `maxPerUser` for each over all replicas. Returns the lower share of each user of whom this replica has too many. */
async function write(tx: Tx, { clock, replica }: Deps, counts: readonly Count[]): Promise<Map<string, number>> {
  const users = counts.map(({ userId }) => userId)
  await tx.selectFrom('users').select('id').where('id', 'in', users).orderBy('id').modifyEnd(forNoKeyUpdate(tx)).execute()
  await tx
    .insertInto('stream_replicas')
    .values({ replica, lease_until: isoIn(clock, leaseMs) })
    .onConflict((c) => c.column('replica').doNothing())
    .execute()
  const elsewhere = await countsElsewhere(tx, { now: isoNow(clock), replica, users })
  const shares = new Map<string, number>()
  const rows: Row[] = []
  for (const count of counts) {
    const { own, lowered } = shareOut(
      count,
      elsewhere.filter(({ user_id }) => user_id === count.userId),
    )
    if (own < count.open) shares.set(count.userId, own)
    rows.push({ user_id: count.userId, replica, open: own })
    await lower(tx, lowered)
  }
  await store(tx, replica, rows)
  return shares
}

/**
 * Reduces the sum to `maxPerUser`. A replica that has no new stream reduces its own count. Otherwise the largest count of another one is reduced, which
 * may be that of a daemon that was restarted just now, and the own count only once no other has any.
 */
function shareOut({ open, isOpening }: Count, elsewhere: readonly Row[]): Readonly<{ own: number; lowered: readonly Row[] }> {
  const others = elsewhere.map((row) => ({ ...row }))
  let own = open
  for (let excess = own + others.reduce((sum, row) => sum + row.open, 0) - maxPerUser; excess > 0; excess--) {
    const largest = others.toSorted((a, b) => b.open - a.open)[0]
    if (isOpening && largest && largest.open > 0) largest.open -= 1
    else own = Math.max(0, own - 1)
  }
  return { own, lowered: others.filter((row, n) => row.open !== elsewhere[n]?.open) }
}

async function lower(tx: Tx, rows: readonly Row[]): Promise<void> {
  for (const { user_id, replica, open } of rows)
    await tx.updateTable('stream_places').set({ open }).where('user_id', '=', user_id).where('replica', '=', replica).execute()
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

async function countsElsewhere(
  tx: Tx,
  { now, replica, users }: Readonly<{ now: string; replica: string; users: readonly string[] }>,
): Promise<readonly Row[]> {
  const rows = await tx
    .selectFrom('stream_places')
    .innerJoin('stream_replicas', 'stream_replicas.replica', 'stream_places.replica')
    .select(['user_id', 'stream_places.replica', 'open'])
    .where('user_id', 'in', users)
    .where('stream_places.replica', '<>', replica)
    .where('lease_until', '>', now)
    .execute()
  return rows.map((row) => ({ ...row, open: Number(row.open) }))
}

async function storedCounts(db: Db, replica: string, users: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('stream_places')
    .select(['user_id', 'open'])
    .where('replica', '=', replica)
    .where('user_id', 'in', users)
    .execute()
  return new Map(rows.map(({ user_id, open }) => [user_id, Number(open)]))
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
