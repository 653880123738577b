import { type Clock, isoNow, type Random, sha256Hex } from '../../core/kit/index.ts'
import { type EndedBy, refreshEnd, type Session, type SessionRules } from '../../core/sessions/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

/** `tnr_` and 32 random bytes: the prefix lets scanners find one that was written down by mistake. */
export const newRefreshToken = (random: Random): string => `tnr_${Buffer.from(random.bytes(32)).toString('base64url')}`

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

/** Returns when it ends. */
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
    })
    .execute()
  return expiresAt
}

/** A session and whose it is, as its record says. */
export type FoundSession = Readonly<{
  id: string
  userId: string
  localpart: string
  roles: readonly string[]
  tenantId: string
  tenantSlug: string
  chatDomain: string
  expiresAt: string
}>

/** Sessions whose users may use them now: not ended, user and tenant active. */
const standing = (db: DbOrTx, now: string) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .innerJoin('tenants', 'tenants.id', 'sessions.tenant_id')
    .where('sessions.ended_at', 'is', null)
    .where('sessions.expires_at', '>', now)
    .where('users.status', '=', 'active')
    .where('tenants.status', '=', 'active')

const found = (db: DbOrTx, now: string) =>
  standing(db, now)
    .select(['sessions.id', 'sessions.user_id', 'sessions.tenant_id', 'sessions.expires_at'])
    .select(['users.localpart', 'users.roles', 'tenants.slug', 'tenants.chat_domain'])

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
})

export async function standingSession(db: DbOrTx, clock: Clock, id: string): Promise<FoundSession | undefined> {
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

type Page = Readonly<{ userId: string; now: string; ended?: boolean; before?: Place | undefined; limit: number }>
/** Where a page ended. */
export type Place = Readonly<{ createdAt: string; id: string }>
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

/** The open sessions of a user beyond so many: those that were unused for longest. */
export async function sessionsBeyond(
  tx: Tx,
  { userId, now, most }: Readonly<{ userId: string; now: string; most: number }>,
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
    .offset(most)
    .execute()
  return rows.map(({ id }) => id)
}
