import { sql } from 'kysely'
import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import type { SessionRules } from '../../core/sessions/index.ts'
import { forUpdate, type Tx } from '../db/index.ts'
import { endSessions } from './revocations.ts'
import { insertRefreshToken } from './sessions.repo.ts'

type Rotation = Readonly<{ hash: string; successor: string; rules: SessionRules }>
export type Rotated = Readonly<{ kind: 'rotated'; expiresAt: string }> | Readonly<{ kind: 'reused' }> | Readonly<{ kind: 'invalid' }>

/**
 * Takes a refresh token and puts its successor in its place. Of any number that try at once one gets through the guarded update; the others
 * find it used, and that ends the family, the winner's successor with it. With a time of grace a token just used is taken once more, as long as
 * nothing that came of it was.
 */
export async function rotateRefreshToken(tx: Tx, clock: Clock, { hash, successor, rules }: Rotation): Promise<Rotated> {
  if (rules.graceSeconds > 0) await lockFamily(tx, hash)
  const taken = (await spendToken(tx, clock, hash)) || (rules.graceSeconds > 0 && (await isGraced(tx, clock, hash, rules.graceSeconds)))
  if (!taken) return refused(tx, clock, hash)
  await passOverSiblings(tx, clock, hash)
  const session = await familyOf(tx, hash)
  const now = isoNow(clock)
  const made = { token: successor, sessionId: session.id, sessionExpiresAt: session.expires_at, parentHash: hash, rules }
  const expiresAt = await insertRefreshToken(tx, now, made)
  await tx.updateTable('sessions').set({ used_at: now }).where('id', '=', session.id).execute()
  return { kind: 'rotated', expiresAt }
}

const familyOf = (tx: Tx, hash: string) =>
  tx
    .selectFrom('sessions')
    .innerJoin('refresh_tokens', 'refresh_tokens.session_id', 'sessions.id')
    .select(['sessions.id', 'sessions.expires_at'])
    .where('hash', '=', hash)
    .executeTakeFirstOrThrow()

/** A grace looks at more than one row, so the family takes turns. */
async function lockFamily(tx: Tx, hash: string): Promise<void> {
  await sql`select id from sessions where id = (select session_id from refresh_tokens where hash = ${hash}) ${forUpdate(tx)}`.execute(tx)
}

/** The one guarded statement: token, family, user and tenant must all stand. */
async function spendToken(tx: Tx, clock: Clock, hash: string): Promise<boolean> {
  const now = isoNow(clock)
  const { rows } = await sql`
    update refresh_tokens set used_at = ${now}
    where hash = ${hash} and used_at is null and expires_at > ${now} and ${stands(now)}
    returning session_id`.execute(tx)
  return rows.length > 0
}

const stands = (now: string) => sql`exists (
  select 1 from sessions
    join users on users.id = sessions.user_id
    join tenants on tenants.id = sessions.tenant_id
  where sessions.id = refresh_tokens.session_id and sessions.ended_at is null and sessions.expires_at > ${now}
    and users.status = 'active' and tenants.status = 'active')`

/** Used within the grace, itself and not passed over, and nothing that came of it was used. */
async function isGraced(tx: Tx, clock: Clock, hash: string, graceSeconds: number): Promise<boolean> {
  const [now, since] = [isoNow(clock), isoIn(clock, -graceSeconds * 1000)]
  const { rows } = await sql`
    select 1 as graced from refresh_tokens
    where hash = ${hash} and used_at > ${since} and ${stands(now)}
      and exists (select 1 from refresh_tokens child where child.parent_hash = ${hash})
      and not exists (select 1 from refresh_tokens child where child.parent_hash = ${hash} and child.used_at is not null)`.execute(tx)
  return rows.length > 0
}

/** Of those that one token's grace brought forth only the first used goes on; using another later is reuse. */
async function passOverSiblings(tx: Tx, clock: Clock, hash: string): Promise<void> {
  await sql`
    update refresh_tokens set used_at = ${isoNow(clock)}
    where parent_hash = (select parent_hash from refresh_tokens where hash = ${hash}) and hash <> ${hash} and used_at is null`.execute(tx)
}

async function refused(tx: Tx, clock: Clock, hash: string): Promise<Rotated> {
  const token = await tx.selectFrom('refresh_tokens').select(['session_id', 'used_at']).where('hash', '=', hash).executeTakeFirst()
  if (!token || token.used_at === null) return { kind: 'invalid' }
  await endSessions(tx, clock, [token.session_id], 'reuse')
  return { kind: 'reused' }
}
