import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import type { Db, DbOrTx, Tx } from './database.ts'
import { forUpdate } from './dialects.ts'

/** Ownership of work that one process does at a time, such as a rollout. The token rises with each new owner; writes with an older one fail. */
export type Lease = Readonly<{ name: string; owner: string; token: number }>

type Deps = Readonly<{ db: DbOrTx; clock: Clock }>
type Wanted = Readonly<{ name: string; owner: string; ttlMs: number }>

/** Returns the lease if it is free, expired or already owned (then renewed under the same token); undefined if another process owns it. */
export async function acquireLease({ db, clock }: Deps, { name, owner, ttlMs }: Wanted): Promise<Lease | undefined> {
  const [now, expires] = [isoNow(clock), isoIn(clock, ttlMs)]
  const { rows } = await sql<{ token: number }>`
    insert into leases (name, holder, token, expires_at) values (${name}, ${owner}, 1, ${expires})
    on conflict (name) do update set
      token = case when leases.holder = ${owner} and leases.expires_at > ${now} then leases.token else leases.token + 1 end,
      holder = ${owner}, expires_at = ${expires}
    where leases.expires_at <= ${now} or leases.holder = ${owner}
    returning token`.execute(db)
  const token = rows[0]?.token
  return token === undefined ? undefined : { name, owner, token: Number(token) }
}

/** Extends an owned lease. Returns false when it was lost: stop writing at once. */
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

type Owned = Readonly<{ owner: string; prefix: string; ttlMs: number }>

/** Extends all leases of an owner whose name begins with the prefix, in one statement. Returns their names; the others were lost. */
export async function renewLeases({ db, clock }: Deps, { owner, prefix, ttlMs }: Owned): Promise<ReadonlySet<string>> {
  const renewed = await db
    .updateTable('leases')
    .set({ expires_at: isoIn(clock, ttlMs) })
    .where('holder', '=', owner)
    .where('name', '>=', prefix)
    .where('name', '<', `${prefix}\uffff`)
    .where('expires_at', '>', isoNow(clock))
    .returning('name')
    .execute()
  return new Set(renewed.map(({ name }) => name))
}

/** Expires the lease, so that the next owner does not wait. */
export async function releaseLease({ db, clock }: { db: Db; clock: Clock }, lease: Lease): Promise<void> {
  await db
    .updateTable('leases')
    .set({ expires_at: isoNow(clock) })
    .where('name', '=', lease.name)
    .where('token', '=', lease.token)
    .execute()
}

/** Expires the lease of a name, whatever its token, if this process owns it; for a process that stops. */
export async function releaseOwnLease(
  { db, clock }: { db: Db; clock: Clock },
  { name, owner }: { name: string; owner: string },
): Promise<void> {
  await db
    .updateTable('leases')
    .set({ expires_at: isoNow(clock) })
    .where('name', '=', name)
    .where('holder', '=', owner)
    .execute()
}

/**
 * First statement of an owner's writing transaction: locks the lease row, so that no other process can take over before the commit.
 * It only reads, because an unchanged write would cost SQLite a page and PostgreSQL a row version. Throws LEASE_LOST.
 */
export async function holdLease(tx: Tx, { name, token }: Lease): Promise<void> {
  const row = await tx
    .selectFrom('leases')
    .select('token')
    .where('name', '=', name)
    .where('token', '=', token)
    .modifyEnd(forUpdate(tx))
    .executeTakeFirst()
  if (!row) throw problem('LEASE_LOST', `Another process took over ${name}; this process stopped writing to it.`)
}
