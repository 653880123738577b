import { type Clock, isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { Person, PersonDetails } from '../../core/people/index.ts'
import type { UserStatus } from '../../core/users/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { countOpenSessions, lockedUntil } from '../sessions/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { findUserById, pageOfUsers, type UserRecord, userView } from '../users/index.ts'
import type { PeopleDeps } from './deps.ts'
import { openLinkUntil } from './password-links.ts'

/** The user as operators see it, without what only they need. */
export function personView(tenant: Parameters<typeof userView>[0], user: UserRecord): Person {
  const { id: userId, tenant: _, passwordUnknownSince, ...shown } = userView(tenant, user)
  return { userId, ...shown, password: passwordUnknownSince !== null ? 'unknown' : user.hasInitialPassword ? 'initial' : 'set' }
}

type Page = Readonly<{
  cursor?: string | undefined
  limit: number
  search?: string | undefined
  status?: UserStatus | undefined
  role?: string | undefined
}>

/** A page of the users of the caller's tenant by login name. */
export async function listPeople({ db }: Pick<PeopleDeps, 'db'>, { tenantSlug }: PlatformPrincipal, page: Page) {
  const { tenant, users, nextCursor } = await pageOfUsers({ db }, { slug: tenantSlug, ...page })
  return { users: users.map((user) => personView(tenant, user)), nextCursor }
}

type OnePerson = Readonly<{ userId: string }>

/** A user of the caller's tenant, of any status. Returns 404 for missing users and those of other tenants. */
export async function existingPerson(db: DbOrTx, { tenantId, tenantSlug }: PlatformPrincipal, { userId }: OnePerson) {
  const user = await findUserById(db, userId)
  if (user?.tenantId !== tenantId) throw problem('NOT_FOUND', `User ${userId} does not exist in your organisation`)
  return { tenant: await existingTenant(db, tenantSlug), user }
}

export async function showPerson(
  { db, clock }: Readonly<{ db: PeopleDeps['db']; clock: Clock }>,
  actor: PlatformPrincipal,
  one: OnePerson,
): Promise<PersonDetails> {
  const { tenant, user } = await existingPerson(db, actor, one)
  return {
    ...personView(tenant, user),
    lockedUntil: (await lockedUntil({ db, clock }, user)) ?? null,
    openSessions: await countOpenSessions(db, clock, user.id),
    linkUntil: (await openLinkUntil(db, { user, now: isoNow(clock) })) ?? null,
  }
}
