import { timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import { type AdminActor, type Clock, isoIn, isoNow, problem, type Secret, sha256Hex } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { Db } from '../../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; approvalTokenSha256: string | undefined }>

/** This many wrong tokens within the window lock the account out of emergencies for the same time again. */
const maxWrongTokens = 5
const windowMs = 15 * 60_000

/**
 * Throws RATE_LIMITED for an account that tried too often, CONFIG where no token is configured, AUTH for a wrong one, in this order. The
 * comparison takes constant time.
 */
export async function assertApproved(deps: Deps, actor: AdminActor, token: Secret): Promise<void> {
  const { approvalTokenSha256: expected } = deps
  if (expected === undefined) {
    await assertNotLocked(deps, actor.accountId)
    throw problem(
      'CONFIG',
      'no approval token for emergencies is configured. fix: create one with `tenantryd approval-token`, set its hash as printed, restart the daemon',
    )
  }
  await countAttempt(deps, actor.accountId)
  const isRight = timingSafeEqual(Buffer.from(sha256Hex(token.reveal()), 'hex'), Buffer.from(expected, 'hex'))
  if (isRight) return resetAttempts(deps, actor.accountId)
  await deps.db.transaction().execute((tx) => recordAudit(tx, deps.clock, { actor, action: 'rollout.emergency.wrong_token' }))
  throw problem(
    'AUTH',
    `the approval token is wrong; after ${maxWrongTokens} wrong tokens this account is locked for ${windowMs / 60_000} minutes`,
  )
}

/**
 * Counts an attempt as wrong before its token is compared, in one statement: of a hundred at once, five are compared. Throws RATE_LIMITED
 * while the lock lasts; such attempts are not counted and do not extend it. Where the database cannot count, nothing is compared.
 */
async function countAttempt(deps: Deps, accountId: string): Promise<void> {
  const [now, later] = [isoNow(deps.clock), isoIn(deps.clock, windowMs)]
  const { rows } = await sql`
    insert into approval_failures (account_id, failures, forget_at, locked_until) values (${accountId}, 1, ${later}, null)
    on conflict (account_id) do update set
      failures = case when approval_failures.forget_at <= ${now} then 1 else approval_failures.failures + 1 end,
      locked_until = case when approval_failures.forget_at > ${now} and approval_failures.failures + 1 >= ${maxWrongTokens} then ${later} end,
      forget_at = case when approval_failures.forget_at <= ${now} then ${later} else approval_failures.forget_at end
    where approval_failures.locked_until is null or approval_failures.locked_until <= ${now}
    returning failures`.execute(deps.db)
  if (rows.length === 0) throw await lockedOut(deps, accountId)
}

async function assertNotLocked(deps: Deps, accountId: string): Promise<void> {
  if ((await lockLeftMs(deps, accountId)) > 0) throw await lockedOut(deps, accountId)
}

async function lockedOut(deps: Deps, accountId: string) {
  const leftMs = await lockLeftMs(deps, accountId)
  return problem(
    'RATE_LIMITED',
    `${maxWrongTokens} wrong approval tokens: this account cannot create emergencies for ${windowMs / 60_000} minutes. fix: use another account with the role admin`,
    { retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)) },
  )
}

async function lockLeftMs({ db, clock }: Deps, accountId: string): Promise<number> {
  const row = await db.selectFrom('approval_failures').select('locked_until').where('account_id', '=', accountId).executeTakeFirst()
  return row?.locked_until ? Date.parse(row.locked_until) - clock.now().getTime() : 0
}

async function resetAttempts({ db }: Deps, accountId: string): Promise<void> {
  await db.deleteFrom('approval_failures').where('account_id', '=', accountId).execute()
}
