import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import type { Db, DbOrTx, Tx } from './database.ts'
import { forUpdate } from './dialects.ts'
import { prepared } from './prepared.ts'

/** Ownership of a singleton (a cron run, an executing rollout). The token rises with each new owner and fences the old one out. */
export type Lease = Readonly<{ name: string; holder: string; token: number }>

type Deps = Readonly<{ db: DbOrTx; clock: Clock }>

/** Takes the lease if it is free, expired, or ours already (then it is renewed under the same token). Undefined when another holds it. */
export async function acquireLease(
  { db, clock }: Deps,
  { name, holder, ttlMs }: { name: string; holder: string; ttlMs: number },
): Promise<Lease | undefined> {
  const [now, expires] = [isoNow(clock), isoIn(clock, ttlMs)]
  const { rows } = await sql<{ token: number }>`
    insert into leases (name, holder, token, expires_at) values (${name}, ${holder}, 1, ${expires})
    on conflict (name) do update set
      token = case when leases.holder = ${holder} and leases.expires_at > ${now} then leases.token else leases.token + 1 end,
      holder = ${holder}, expires_at = ${expires}
    where leases.expires_at <= ${now} or leases.holder = ${holder}
    returning token`.execute(db)
  return rows[0] && { name, holder, token: Number(rows[0].token) }
}

/** Extends a lease that is still ours. False when it was lost: stop writing at once. */
export async function renewLease({ db, clock }: Deps, lease: Lease, ttlMs: number): Promise<boolean> {
  const result = await db
    .updateTable('leases')
    .set({ expires_at: isoIn(clock, ttlMs) })
    .where('name', '=', lease.name)
    .where('token', '=', lease.token)
    .where('expires_at', '>', isoNow(clock))
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Gives the lease back, so that the next owner need not wait for its end. */
export async function releaseLease({ db, clock }: { db: Db; clock: Clock }, lease: Lease): Promise<void> {
  await db
    .updateTable('leases')
    .set({ expires_at: isoNow(clock) })
    .where('name', '=', lease.name)
    .where('token', '=', lease.token)
    .execute()
}

/** For whoever keeps a lease between turns and ends now: the next replica need not wait until it runs out. */
export async function handBack({ db, clock }: { db: Db; clock: Clock }, { name, holder }: { name: string; holder: string }): Promise<void> {
  await db
    .updateTable('leases')
    .set({ expires_at: isoNow(clock) })
    .where('name', '=', name)
    .where('holder', '=', holder)
    .execute()
}

/**
 * First statement of an owner's writing transaction: locks the lease row, so nobody can take over before the commit. It is read and not written:
 * of a row that is written as it was SQLite stores a page with every transaction, and PostgreSQL a copy. Throws LEASE_LOST.
 */
export async function holdLease(tx: Tx, lease: Lease): Promise<void> {
  const { rows } = await lockLease(tx, lease)
  if (rows.length === 0) throw problem('LEASE_LOST', `another process took over ${lease.name}; this one has stopped writing to it`)
}

const lockLease = prepared<Lease, { token: number }>((db, place) =>
  db.selectFrom('leases').select('token').where('name', '=', place('name')).where('token', '=', place('token')).modifyEnd(forUpdate(db)),
)
