import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, problem } from '../../../core/kit/index.ts'
import type { Db } from '../../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

/** So many wrong tokens within the window lock the account out of emergencies for as long again. */
const mostWrongTokens = 5
const windowMs = 15 * 60_000

/**
 * Counts a try as wrong before the token is looked at, in one statement: of a hundred at once, five are compared. Throws RATE_LIMITED while
 * the lock lasts; such tries are not counted and do not extend it. When the database cannot count, nothing is compared.
 */
export async function reserveTry(deps: Deps, accountId: string): Promise<void> {
  const [now, later] = [isoNow(deps.clock), isoIn(deps.clock, windowMs)]
  const { rows } = await sql`
    insert into approval_failures (account_id, failures, forget_at, locked_until) values (${accountId}, 1, ${later}, null)
    on conflict (account_id) do update set
      failures = case when approval_failures.forget_at <= ${now} then 1 else approval_failures.failures + 1 end,
      locked_until = case when approval_failures.forget_at > ${now} and approval_failures.failures + 1 >= ${mostWrongTokens} then ${later} end,
      forget_at = case when approval_failures.forget_at <= ${now} then ${later} else approval_failures.forget_at end
    where approval_failures.locked_until is null or approval_failures.locked_until <= ${now}
    returning failures`.execute(deps.db)
  if (rows.length === 0) throw await lockedOut(deps, accountId)
}

/** Throws RATE_LIMITED while the lock lasts; counts nothing. */
export async function refuseLocked(deps: Deps, accountId: string): Promise<void> {
  if ((await lockLeftMs(deps, accountId)) > 0) throw await lockedOut(deps, accountId)
}

async function lockedOut(deps: Deps, accountId: string) {
  const leftMs = await lockLeftMs(deps, accountId)
  return problem(
    'RATE_LIMITED',
    `${mostWrongTokens} wrong approval tokens from this account: no emergency can be created with it for ${windowMs / 60_000} minutes; somebody else with the role admin can`,
    { retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)) },
  )
}

async function lockLeftMs({ db, clock }: Deps, accountId: string): Promise<number> {
  const row = await db.selectFrom('approval_failures').select('locked_until').where('account_id', '=', accountId).executeTakeFirst()
  return row?.locked_until ? Date.parse(row.locked_until) - clock.now().getTime() : 0
}

/** The token was right: what was counted before it counts no longer. */
export async function forgetTries({ db }: Deps, accountId: string): Promise<void> {
  await db.deleteFrom('approval_failures').where('account_id', '=', accountId).execute()
}
