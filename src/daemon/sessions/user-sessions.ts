import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import type { PlatformPrincipal } from '../../core/sessions/index.ts'
import { canonicalLocalpart } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { tenantBySlug } from '../tenants/index.ts'
import { findUser } from '../users/index.ts'
import type { SessionsNeeds } from './needs.ts'
import { revoke } from './revocations.ts'
import { openSessions } from './sessions.repo.ts'

type Needs = Pick<SessionsNeeds, 'db' | 'clock' | 'revocations'>

/** The caller's open sessions; `current` is the one that asks. */
export async function listOwnSessions({ db, clock }: Pick<Needs, 'db' | 'clock'>, { userId, sessionId }: PlatformPrincipal) {
  const sessions = await openSessions(db, isoNow(clock), userId)
  return sessions.map((session) => ({ ...session, current: session.id === sessionId }))
}

/** Ends one of the caller's sessions; those of others do not exist for them. */
export async function revokeOwnSession(
  { db, clock, revocations }: Needs,
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
    await revoke(tx, clock, { kind: 'session', id }, 'user')
  })
  await revocations.readNow()
}

type OfUser = Readonly<{ slug: string; user: string }>

/** For operators. Throws NOT_FOUND naming tenant or user. */
export async function listUserSessions({ db, clock }: Pick<Needs, 'db' | 'clock'>, { slug, user }: OfUser) {
  const tenant = await tenantBySlug(db, slug)
  if (!tenant) throw problem('NOT_FOUND', `there is no tenant ${slug}: \`tenantry tenants list\` shows all`)
  const found = await findUser(db, { tenantId: tenant.id, localpart: canonicalLocalpart(user) })
  if (!found) throw problem('NOT_FOUND', `${slug} has no user ${user}: \`tenantry users list ${slug}\` shows all`)
  return (await openSessions(db, isoNow(clock), found.id)).map((session) => ({ ...session, user: found.localpart }))
}

type OfTenant = Readonly<{ slug: string; id: string }>

/** For operators: a stolen device, a user who asks for it. The chat session goes on. */
export async function revokeUserSession({ db, clock, revocations }: Needs, actor: Actor, { slug, id }: OfTenant): Promise<void> {
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
    await revoke(tx, clock, { kind: 'session', id }, 'admin')
    await recordAudit(tx, clock, { actor, action: 'user-session.revoked', subject: `${slug}/${session.localpart}`, data: { session: id } })
  })
  await revocations.readNow()
}
