import { type Actor, bearerToken, type Clock, isoNow, isProblem, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { EndedBy } from '../../core/sessions/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { forUpdate, type Tx } from '../db/index.ts'
import type { SessionsDeps } from './deps.ts'
import { refreshHash } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'keys' | 'revocations'>
/** `setTenant` is called with the tenant of the session. */
type LogoutInput = Readonly<{
  refreshToken: string | undefined
  authorization: string | undefined
  setTenant?: (tenantId: string) => void
}>
type FoundSession = Readonly<{ id: string; tenantId: string }>

/**
 * Ends the sessions of a refresh token, used or not, and of the platform token in the request. Unknown tokens are ignored: the caller is logged out
 * either way. The chat session continues (spec 5.2).
 */
export async function logout(deps: Deps, { refreshToken, authorization, setTenant }: LogoutInput): Promise<void> {
  const { db, clock, revocations } = deps
  const sessions = [await sessionOfRefreshToken(deps, refreshToken), await sessionOfPlatformToken(deps, authorization)]
  const found = sessions.filter((session) => session !== undefined)
  if (!found[0]) return
  setTenant?.(found[0].tenantId)
  const ids = [...new Set(found.map(({ id }) => id))]
  await db.transaction().execute((tx) => endSessions({ tx, clock }, ids, 'logout'))
  await revocations.readNow()
}

async function sessionOfRefreshToken({ db }: Deps, token: string | undefined): Promise<FoundSession | undefined> {
  if (token === undefined) return undefined
  const row = await db
    .selectFrom('refresh_tokens')
    .innerJoin('sessions', 'sessions.id', 'session_id')
    .select(['sessions.id', 'sessions.tenant_id'])
    .where('hash', '=', refreshHash(token))
    .executeTakeFirst()
  return row && { id: row.id, tenantId: row.tenant_id }
}

async function sessionOfPlatformToken({ keys }: Deps, authorization: string | undefined): Promise<FoundSession | undefined> {
  const token = bearerToken(authorization)
  if (!token) return undefined
  try {
    const { fam, tid } = await keys.verify(token)
    return { id: fam, tenantId: tid }
  } catch (error) {
    if (isProblem(error, 'UNAUTHENTICATED')) return undefined
    throw error
  }
}

type RevokeDeps = Pick<SessionsDeps, 'db' | 'clock' | 'revocations'>

/** Ends one of the caller's sessions. Returns 404 for missing sessions and those of other users. */
export async function revokeOwnSession(
  { db, clock, revocations }: RevokeDeps,
  { userId }: PlatformPrincipal,
  { id }: Readonly<{ id: string }>,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const session = await tx
      .selectFrom('sessions')
      .select('id')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .where('ended_at', 'is', null)
      .where('expires_at', '>', isoNow(clock))
      .executeTakeFirst()
    if (!session) throw problem('NOT_FOUND', `You have no open session ${id}`)
    await endSessions({ tx, clock }, [id], 'user')
  })
  await revocations.readNow()
}

type TenantSession = Readonly<{ slug: string; id: string }>

/** Ends a user's session for an operator. The chat session continues. Throws NOT_FOUND. */
export async function revokeUserSession({ db, clock, revocations }: RevokeDeps, actor: Actor, { slug, id }: TenantSession): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const session = await tx
      .selectFrom('sessions')
      .innerJoin('tenants', 'tenants.id', 'sessions.tenant_id')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select('localpart')
      .where('sessions.id', '=', id)
      .where('slug', '=', slug)
      .where('ended_at', 'is', null)
      .executeTakeFirst()
    if (!session) throw problem('NOT_FOUND', `${slug} has no open session ${id}`)
    await endSessions({ tx, clock }, [id], 'admin')
    await recordAudit(tx, clock, { actor, action: 'user-session.revoked', subject: `${slug}/${session.localpart}`, data: { session: id } })
  })
  await revocations.readNow()
}

/**
 * Ends all sessions of a user in the transaction of the change; replicas and event streams know within a second. Enabling the user again restores
 * none. Call it late in the transaction: it locks the revocation counter until the commit.
 */
export async function endUserSessions(tx: Tx, clock: Clock, { userId, by }: Readonly<{ userId: string; by: EndedBy }>): Promise<void> {
  const open = tx.selectFrom('sessions').select('id').where('user_id', '=', userId).where('ended_at', 'is', null)
  await open.orderBy('id').modifyEnd(forUpdate(tx)).execute()
  await tx
    .updateTable('sessions')
    .set({ ended_at: isoNow(clock), ended_by: by })
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .execute()
  await publishRevocation(tx, clock, { kind: 'user', subject: userId })
}

/** Ends those of the sessions that are open. Rows are locked in the order of ids, then the revocation counter: concurrent calls do not deadlock. */
export async function endSessions({ tx, clock }: Readonly<{ tx: Tx; clock: Clock }>, ids: readonly string[], by: EndedBy): Promise<void> {
  const ended: string[] = []
  for (const id of [...ids].sort()) if (await endSession({ tx, clock }, id, by)) ended.push(id)
  for (const id of ended) await publishRevocation(tx, clock, { kind: 'user-session', subject: id })
}

/** Returns false if the session had ended before. */
async function endSession({ tx, clock }: Readonly<{ tx: Tx; clock: Clock }>, id: string, by: EndedBy): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('sessions')
    .set({ ended_at: isoNow(clock), ended_by: by })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
