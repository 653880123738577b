import { sql } from 'kysely'
import { failureMemoryMs, knownNetworkMs, lockMs, maxFailures, networkOf } from '../../core/admin/index.ts'
import { type Clock, isoIn, isoNow, problem, sha256Hex } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

/** A login attempt, counted before its password is verified, so that parallel attempts cannot exceed the limit. */
export type Attempt = Readonly<{ nameHash: string; network: string; knownNetwork: boolean; lastOne: boolean }>

type Deps = Readonly<{ db: DbOrTx; clock: Clock }>

export const nameHash = (name: string): string => sha256Hex(name.trim().toLowerCase())

/**
 * Counts an attempt as failed until `clearFailures` or `refundAttempt`. Throws ACCOUNT_LOCKED during the lock; such attempts are neither
 * counted nor do they extend it. Unknown names are counted alike.
 */
export async function reserveAttempt(deps: Deps, name: string, address: string): Promise<Attempt> {
  const [hashed, network] = [nameHash(name), networkOf(address)]
  const knownNetwork = await isKnownNetwork(deps, hashed, network)
  const counted = knownNetwork ? network : ''
  const failures = await incrementFailures(deps, hashed, counted)
  if (failures === undefined) {
    const minutes = lockMs / 60_000
    throw problem(
      'ACCOUNT_LOCKED',
      `Too many failed logins. fix: wait ${minutes} minutes, or run \`tenantryd admin unlock\` on the daemon's machine`,
      {
        retryAfterSeconds: await secondsLeft(deps, hashed, counted),
      },
    )
  }
  return { nameHash: hashed, network, knownNetwork, lastOne: failures >= maxFailures }
}

async function isKnownNetwork({ db, clock }: Deps, hashed: string, network: string): Promise<boolean> {
  const row = await db
    .selectFrom('login_networks')
    .select('network')
    .where('name_hash', '=', hashed)
    .where('network', '=', network)
    .where('last_login_at', '>', isoIn(clock, -knownNetworkMs))
    .executeTakeFirst()
  return row !== undefined
}

/** The number of failures including this one; undefined while locked. */
async function incrementFailures({ db, clock }: Deps, hashed: string, network: string): Promise<number | undefined> {
  const [now, forgetAt, lockUntil] = [isoNow(clock), isoIn(clock, failureMemoryMs), isoIn(clock, lockMs)]
  const { rows } = await sql<{ failures: number }>`
    insert into login_failures (name_hash, network, failures, forget_at, locked_until) values (${hashed}, ${network}, 1, ${forgetAt}, null)
    on conflict (name_hash, network) do update set
      failures = case when login_failures.forget_at <= ${now} then 1 else login_failures.failures + 1 end,
      locked_until = case when login_failures.forget_at > ${now} and login_failures.failures + 1 >= ${maxFailures} then ${lockUntil} end,
      forget_at = ${forgetAt}
    where login_failures.locked_until is null or login_failures.locked_until <= ${now}
    returning failures`.execute(db)
  return rows[0] && Number(rows[0].failures)
}

async function secondsLeft({ db, clock }: Deps, hashed: string, network: string): Promise<number> {
  const row = await db
    .selectFrom('login_failures')
    .select('locked_until')
    .where('name_hash', '=', hashed)
    .where('network', '=', network)
    .executeTakeFirst()
  const left = row?.locked_until ? Date.parse(row.locked_until) - clock.now().getTime() : 0
  return Math.max(1, Math.ceil(left / 1000))
}

const counterOf = ({ nameHash: hashed, network, knownNetwork }: Attempt) => ({ hashed, network: knownNetwork ? network : '' })

/** Reverts the count of an attempt with the right password and no code. */
export async function refundAttempt({ db }: Deps, attempt: Attempt): Promise<void> {
  const { hashed, network } = counterOf(attempt)
  await db
    .updateTable('login_failures')
    .set((row) => ({ failures: row('failures', '-', 1), locked_until: null }))
    .where('name_hash', '=', hashed)
    .where('network', '=', network)
    .where('failures', '>', 0)
    .execute()
}

/** Deletes the failures of the attempt's network after a success; those of unknown networks stay. */
export async function clearFailures(tx: Tx, attempt: Attempt): Promise<void> {
  const { hashed, network } = counterOf(attempt)
  await tx.deleteFrom('login_failures').where('name_hash', '=', hashed).where('network', '=', network).execute()
}

export async function recordNetwork(tx: Tx, clock: Clock, { nameHash: hashed, network }: Attempt): Promise<void> {
  const now = isoNow(clock)
  await tx
    .insertInto('login_networks')
    .values({ name_hash: hashed, network, last_login_at: now })
    .onConflict((c) => c.columns(['name_hash', 'network']).doUpdateSet({ last_login_at: now }))
    .execute()
}
