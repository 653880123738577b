import { isFault } from '../../core/homeserver/index.ts'
import { type Actor, problem, secret } from '../../core/kit/index.ts'
import { type CreatedUser, generatePassword, isPlatformAccount, type RoleBook, unknownRoles } from '../../core/users/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import { existingTenant } from '../tenants/index.ts'
import type { UsersDeps } from './deps.ts'
import { enrolUser } from './enrol-user.ts'
import { userView } from './show-users.ts'
import { findUser } from './users.repo.ts'

type Wanted = Readonly<{
  slug: string
  localpart: string
  displayName?: string | undefined
  locale?: string | undefined
  roles?: readonly string[] | undefined
  password?: string | undefined
}>

/**
 * Makes a user, the chat account first: a call that breaks off in between can be repeated, and finds the account there. One that exists in the
 * chat keeps its password. Throws NOT_FOUND (tenant), ALREADY_EXISTS, VALIDATION, CONFLICT (the chat server takes no such name),
 * HOMESERVER_UNREACHABLE.
 */
export async function createUser(deps: UsersDeps, actor: Actor, wanted: Wanted): Promise<CreatedUser> {
  const { db, random, roles: book, homeservers } = deps
  const { slug, localpart, displayName = null, locale = null, roles = [book.defaultRole] } = wanted
  refuseRoles(book, roles)
  if (isPlatformAccount(localpart)) throw problem('VALIDATION', `${localpart} is a name of the platform itself: choose another`)
  const tenant = await existingTenant(db, slug)
  if (await findUser(db, { tenantId: tenant.id, localpart })) throw taken(slug, localpart)
  const password = wanted.password ?? generatePassword(random)
  const made = await homeservers.of(tenant.id).createUser({ localpart, password: secret(password), displayName })
  if (isFault(made)) throw homeserverProblem(made, slug)
  if (made.kind === 'refused') throw problem('CONFLICT', `the chat server of ${slug} does not take ${localpart}: ${made.reason}`)
  const chat = made.kind === 'exists' ? 'existed' : 'created'
  const user = await enrolUser(deps, actor, { tenant, localpart, displayName, locale, roles, chat })
  if (!user) throw taken(slug, localpart)
  const shown = chat === 'created' && wanted.password === undefined
  return { user: userView(tenant, user), chat, password: shown ? password : null }
}

/** Throws VALIDATION naming those that the role book does not. */
export function refuseRoles(book: RoleBook, roles: readonly string[]): void {
  const unknown = unknownRoles(book, roles)
  if (unknown.length > 0)
    throw problem('VALIDATION', `roles: there is no role ${unknown.join(', ')}: there are ${Object.keys(book.roles).join(', ')}`)
}

const taken = (slug: string, localpart: string) =>
  problem('ALREADY_EXISTS', `${slug} has a user ${localpart}: \`tenantry users show ${slug} ${localpart}\` shows it`)
