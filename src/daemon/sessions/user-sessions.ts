import { type Actor, isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { canonicalLocalpart } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { tenantBySlug } from '../tenants/index.ts'
import { findUser } from '../users/index.ts'
import type { SessionsDeps } from './deps.ts'
import { endSessions } from './revocations.ts'
import { type Place, sessionsBefore } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'revocations'>

type Listing = Pick<SessionsDeps, 'db' | 'clock' | 'rules'>
type Wanted = Readonly<{ limit: number; cursor?: string | undefined }>

/** The caller's open sessions; `current` is the one that asks. */
export async function listOwnSessions(deps: Listing, { userId, sessionId }: PlatformPrincipal, wanted: Wanted) {
  const { sessions, ...page } = await pageOf(deps, { userId, ...wanted })
  return {
    sessions: sessions.map(({ endedAt: _, endedBy: __, ...session }) => ({ ...session, current: session.id === sessionId })),
    ...page,
  }
}

async function pageOf(
  { db, clock, rules }: Listing,
  { userId, ended = false, limit, cursor }: Wanted & { userId: string; ended?: boolean },
) {
  const before = cursor === undefined ? undefined : readCursor(cursor)
  const found = await sessionsBefore(db, { userId, ended, before, now: isoNow(clock), limit: limit + 1 })
  const sessions = found.slice(0, limit)
  const last = sessions.at(-1)
  return { sessions, nextCursor: found.length > limit && last ? `${last.createdAt}_${last.id}` : null, most: rules.mostPerUser }
}

function readCursor(cursor: string): Place {
  const [, createdAt, id] = /^([0-9TZ:.-]{20,30})_(ses_[0-9a-z]{20})$/.exec(cursor) ?? []
  if (createdAt && id) return { createdAt, id }
  throw problem('VALIDATION', 'cursor: give back the nextCursor of the page before', {
    details: [{ path: 'cursor', reason: 'is not a cursor' }],
  })
}

/** Ends one of the caller's sessions; those of others do not exist for them. */
export async function revokeOwnSession(
  { db, clock, revocations }: Deps,
  { userId }: PlatformPrincipal,
  { id }: { id: string },
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
    if (!session) throw problem('NOT_FOUND', `you have no open session ${id}`)
    await endSessions(tx, clock, [id], 'user')
  })
  await revocations.readNow()
}

type OfUser = Wanted & Readonly<{ slug: string; user: string; ended: boolean }>

/** For operators. Throws NOT_FOUND naming tenant or user. */
export async function listUserSessions(deps: Listing, { slug, user, ...wanted }: OfUser) {
  const { db } = deps
  const tenant = await tenantBySlug(db, slug)
  if (!tenant) throw problem('NOT_FOUND', `there is no tenant ${slug}: \`tenantry tenants list\` shows all`)
  const found = await findUser(db, { tenantId: tenant.id, localpart: canonicalLocalpart(user) })
  if (!found) throw problem('NOT_FOUND', `${slug} has no user ${user}: \`tenantry users list ${slug}\` shows all`)
  const { sessions, ...page } = await pageOf(deps, { userId: found.id, ...wanted })
  return { sessions: sessions.map((session) => ({ ...session, user: found.localpart })), ...page }
}

type OfTenant = Readonly<{ slug: string; id: string }>

/** For operators: a stolen device, a user who asks for it. The chat session goes on. */
export async function revokeUserSession({ db, clock, revocations }: Deps, actor: Actor, { slug, id }: OfTenant): Promise<void> {
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
    await endSessions(tx, clock, [id], 'admin')
    await recordAudit(tx, clock, { actor, action: 'user-session.revoked', subject: `${slug}/${session.localpart}`, data: { session: id } })
  })
  await revocations.readNow()
}
