import { createHmac } from 'node:crypto'
import { type Clock, isoIn, isoNow, plural, type Random, sha256Hex } from '../../core/kit/index.ts'
import { type EndedBy, knownNetworkMs, refreshEnd, type Session, type SessionRules } from '../../core/sessions/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'

/** `tnr_` and 32 random bytes. The prefix lets secret scanners find leaked tokens. */
export const newRefreshToken = (random: Random): string => `tnr_${Buffer.from(random.bytes(32)).toString('base64url')}`

export const newSalt = (random: Random): string => Buffer.from(random.bytes(32)).toString('base64url')

/** The successor of a refresh token. The token alone and the salt alone do not give it. */
export const successorOf = (token: string, salt: string): string => `tnr_${createHmac('sha256', token).update(salt).digest('base64url')}`

export const refreshHash = (token: string): string => sha256Hex(token)

type NewSession = Readonly<{ id: string; tenantId: string; userId: string; deviceName: string; network: string; expiresAt: string }>

export async function insertSession(tx: Tx, now: string, session: NewSession): Promise<void> {
  await tx
    .insertInto('sessions')
    .values({
      id: session.id,
      tenant_id: session.tenantId,
      user_id: session.userId,
      device_name: session.deviceName,
      network: session.network,
      created_at: now,
      used_at: now,
      expires_at: session.expiresAt,
      ended_at: null,
      ended_by: null,
    })
    .execute()
}

type NewToken = Readonly<{ token: string; sessionId: string; sessionExpiresAt: string; parentHash: string | null; rules: SessionRules }>

/** Returns the end of the token. */
export async function insertRefreshToken(tx: Tx, now: string, made: NewToken): Promise<string> {
  const expiresAt = refreshEnd(made.rules, now, made.sessionExpiresAt)
  await tx
    .insertInto('refresh_tokens')
    .values({
      hash: refreshHash(made.token),
      session_id: made.sessionId,
      parent_hash: made.parentHash,
      created_at: now,
      expires_at: expiresAt,
      used_at: null,
      successor_salt: null,
    })
    .execute()
  return expiresAt
}

/** A session with its user and tenant. */
export type FoundSession = Readonly<{
  id: string
  userId: string
  localpart: string
  roles: readonly string[]
  tenantId: string
  tenantSlug: string
  chatDomain: string
  expiresAt: string
  hasInitialPassword: boolean
}>

/** Valid sessions: open, of an active user of an active tenant. */
const validSessions = (db: DbOrTx, now: string) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .innerJoin('tenants', 'tenants.id', 'sessions.tenant_id')
    .where('sessions.ended_at', 'is', null)
    .where('sessions.expires_at', '>', now)
    .where('users.status', '=', 'active')
    .where('tenants.status', '=', 'active')

const found = (db: DbOrTx, now: string) =>
  validSessions(db, now)
    .select(['sessions.id', 'sessions.user_id', 'sessions.tenant_id', 'sessions.expires_at'])
    .select(['users.localpart', 'users.roles', 'users.password_initial', 'tenants.slug', 'tenants.chat_domain'])

type FoundRow = Awaited<ReturnType<ReturnType<typeof found>['executeTakeFirstOrThrow']>>

const toFound = (row: FoundRow): FoundSession => ({
  id: row.id,
  userId: row.user_id,
  localpart: row.localpart,
  roles: JSON.parse(row.roles),
  tenantId: row.tenant_id,
  tenantSlug: row.slug,
  chatDomain: row.chat_domain,
  expiresAt: row.expires_at,
  hasInitialPassword: Number(row.password_initial) === 1,
})

export async function validSession(db: DbOrTx, clock: Clock, id: string): Promise<FoundSession | undefined> {
  const row = await found(db, isoNow(clock)).where('sessions.id', '=', id).executeTakeFirst()
  return row && toFound(row)
}

export async function sessionOfToken(db: DbOrTx, clock: Clock, hash: string): Promise<FoundSession | undefined> {
  const row = await found(db, isoNow(clock))
    .innerJoin('refresh_tokens', 'refresh_tokens.session_id', 'sessions.id')
    .where('refresh_tokens.hash', '=', hash)
    .executeTakeFirst()
  return row && toFound(row)
}

type Page = Readonly<{ userId: string; now: string; ended?: boolean; before?: Position | undefined; limit: number }>
/** The last session of the previous page. */
export type Position = Readonly<{ createdAt: string; id: string }>
type Listed = Session & Readonly<{ endedAt: string | null; endedBy: EndedBy | null }>

/** A user's open sessions, or the ended ones, newest first. */
export async function sessionsBefore(db: DbOrTx, { userId, now, ended = false, before, limit }: Page): Promise<Listed[]> {
  let query = db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('ended_at', ended ? 'is not' : 'is', null)
  if (!ended) query = query.where('expires_at', '>', now)
  if (before) {
    const { createdAt, id } = before
    query = query.where(({ eb, or, and }) =>
      or([eb('created_at', '<', createdAt), and([eb('created_at', '=', createdAt), eb('id', '<', id)])]),
    )
  }
  const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
  return rows.map((row) => ({
    id: row.id,
    deviceName: row.device_name,
    network: row.network,
    createdAt: row.created_at,
    lastUsedAt: row.used_at,
    expiresAt: row.expires_at,
    endedAt: row.ended_at,
    endedBy: row.ended_by,
  }))
}

export async function countOpenSessions(db: DbOrTx, clock: Clock, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('sessions')
    .select((of) => of.fn.countAll().as('count'))
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', isoNow(clock))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Ids of a user's open sessions beyond `max`, except the most recently used. */
export async function sessionsBeyond(
  tx: Tx,
  { userId, now, max }: Readonly<{ userId: string; now: string; max: number }>,
): Promise<string[]> {
  const rows = await tx
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('used_at', 'desc')
    .orderBy('id')
    .limit(1000)
    .offset(max)
    .execute()
  return rows.map(({ id }) => id)
}

/** Sessions per transaction, so that other writers are not blocked for long. */
const deleteBatch = 500

/**
 * Deletes expired sessions with their refresh tokens, which detect reuse until then, and networks that are no longer known. Returns a summary.
 */
export async function deleteExpiredSessions({ db, clock }: Readonly<{ db: Db; clock: Clock }>, signal?: AbortSignal): Promise<string> {
  const now = isoNow(clock)
  let deleted = 0
  for (let last = deleteBatch; last === deleteBatch && !signal?.aborted; deleted += last) last = await deleteSome(db, now)
  await db.deleteFrom('user_login_networks').where('last_login_at', '<=', isoIn(clock, -knownNetworkMs)).execute()
  return plural(deleted, 'ended session')
}

const deleteSome = (db: Db, now: string): Promise<number> =>
  db.transaction().execute(async (tx) => {
    const rows = await tx
      .selectFrom('sessions')
      .select('id')
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(deleteBatch)
      .execute()
    if (rows.length === 0) return 0
    const ids = rows.map(({ id }) => id)
    await tx.deleteFrom('refresh_tokens').where('session_id', 'in', ids).execute()
    await tx.deleteFrom('sessions').where('id', 'in', ids).execute()
    return ids.length
  })
