import { isFault } from '../../core/homeserver/index.ts'
import { type Actor, type Clock, isoNow, newId, problem, type Random, secret, type TenantId, type UserId } from '../../core/kit/index.ts'
import {
  type CreatedUser,
  generatePassword,
  isOwnName,
  isPlatformAccount,
  isReserved,
  type RoleBook,
  unknownRoles,
} from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishContactEvent } from '../contacts/index.ts'
import type { Tx } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import { existingTenant, type TenantRecord } from '../tenants/index.ts'
import type { Delegated, UsersDeps } from './deps.ts'
import { userView } from './show-users.ts'
import { findUser, insertUser, recordPasswordKnown, type UserRecord } from './users.repo.ts'

type CreateInput = Readonly<{
  slug: string
  localpart: string
  displayName?: string | undefined
  locale?: string | undefined
  email?: string | undefined
  roles?: readonly string[] | undefined
  password?: string | undefined
}>

/**
 * Creates a user, the chat account first, so that an interrupted call can be repeated. An existing chat account keeps its password. Throws
 * NOT_FOUND (tenant), ALREADY_EXISTS, VALIDATION, CONFLICT (the chat server rejects the name), HOMESERVER_UNREACHABLE.
 */
export async function createUser(deps: UsersDeps & Delegated, actor: Actor, input: CreateInput): Promise<MadeUser> {
  const { db, random, roles: book, homeservers, delegated } = deps
  const { slug, localpart, displayName = null, locale = null, email = null, roles = [book.defaultRole] } = input
  assertKnownRoles(book, roles)
  assertFreeName(localpart, delegated !== undefined)
  const refusal = delegated?.refusalOfRoles(roles)
  if (refusal !== undefined) throw problem('FORBIDDEN', refusal)
  const tenant = await existingTenant(db, slug)
  if (input.password !== undefined) assertFitPassword(input.password, { localpart, displayName, slug })
  const found = await findUser(db, { tenantId: tenant.id, localpart })
  if (found) throw alreadyExists(slug, found, delegated)
  const password = input.password ?? generatePassword(random)
  const account = await homeservers.of(tenant.id).createUser({ localpart, password: secret(password), displayName })
  if (isFault(account)) throw homeserverProblem(account, slug)
  if (account.kind === 'refused') throw problem('CONFLICT', `The chat server of ${slug} rejected the user ${localpart}: ${account.reason}`)
  const chat = account.kind === 'exists' ? 'existed' : 'created'
  const made = await registerUser(deps, actor, { tenant, localpart, displayName, locale, email, roles, chat })
  if (!made) throw alreadyExists(slug, { localpart, status: 'active' }, delegated)
  const isGenerated = chat === 'created' && input.password === undefined && made.invitedUntil === null
  return { user: made.user, tenant, chat, password: isGenerated ? password : null, invitedUntil: made.invitedUntil }
}

/** `invitedUntil`: when the link of the invitation expires; null for a user with a password. */
type MadeUser = Omit<CreatedUser, 'user'> & Readonly<{ user: UserRecord; tenant: TenantRecord; invitedUntil: string | null }>

/** The answer to an operator, who sends no invitations. */
export const createdView = ({ user, tenant, chat, password }: MadeUser): CreatedUser => ({ user: userView(tenant, user), chat, password })

function assertFreeName(localpart: string, isDelegated: boolean): void {
  if (isPlatformAccount(localpart) || (isDelegated && isReserved(localpart)))
    throw problem('VALIDATION', `The name ${localpart} is reserved for the platform. fix: choose another name`)
}

/** Throws VALIDATION for a password that consists of a name of its user or organisation. */
export function assertFitPassword(
  password: string,
  { localpart, displayName, slug }: Readonly<{ localpart: string; displayName: string | null; slug: string }>,
  path = 'password',
): void {
  const reason = 'must not be the name of the user or of the organisation'
  if (isOwnName(password, [localpart, displayName, slug]))
    throw problem('VALIDATION', `${path}: ${reason}`, { details: [{ path, reason }] })
}

/** Throws VALIDATION naming the roles that the role book does not define. */
export function assertKnownRoles(book: RoleBook, roles: readonly string[]): void {
  const unknown = unknownRoles(book, roles)
  if (unknown.length > 0)
    throw problem('VALIDATION', `roles: unknown role ${unknown.join(', ')}. Known roles: ${Object.keys(book.roles).join(', ')}`)
}

const nextStep = {
  active: (slug: string, localpart: string) => `fix: show it with \`tenantry users show ${slug} ${localpart}\``,
  disabled: (slug: string, localpart: string) =>
    `It is disabled. fix: \`tenantry users enable ${slug} ${localpart}\`, or choose another name`,
  erased: () => 'It is erased, and its name is not given out again. fix: choose another name',
} as const

/** Administrators of one tenant have no command line. */
const ownStep = {
  active: 'fix: choose another name',
  disabled: 'It is disabled. fix: enable it, or choose another name',
  erased: nextStep.erased(),
} as const

const alreadyExists = (slug: string, { localpart, status }: Pick<UserRecord, 'localpart' | 'status'>, delegated: unknown) =>
  problem(
    'ALREADY_EXISTS',
    `User ${localpart} of ${slug} already exists. ${delegated ? ownStep[status] : nextStep[status](slug, localpart)}`,
  )

type RegisterDeps = Pick<UsersDeps, 'db' | 'clock' | 'random' | 'roles'> & Delegated
type Registration = Readonly<{
  tenant: Readonly<{ id: TenantId; slug: string }>
  localpart: string
  displayName: string | null
  locale: string | null
  email: string | null
  roles: readonly string[]
  /** `existed`: the chat account was there before. */
  chat: 'created' | 'existed'
}>

/** A user with the end of its invitation; null for one that was not invited. */
type Registered = Readonly<{ user: UserRecord; invitedUntil: string | null }>

/**
 * Stores a new user with event and audit record. Returns undefined if the tenant has a user of that name, which stays unchanged. A password that the
 * administration of the tenant chose is an initial one.
 */
export async function registerUser(
  { db, clock, random, roles: book, delegated }: RegisterDeps,
  actor: Actor,
  { tenant, chat, ...fields }: Registration,
): Promise<Registered | undefined> {
  const { localpart, roles } = fields
  const hasInitialPassword = delegated !== undefined && chat === 'created'
  const user = newUser({ clock, random }, { tenantId: tenant.id, ...fields, hasInitialPassword })
  return db.transaction().execute(async (tx) => {
    if (!(await insertUser(tx, user))) return undefined
    const invitedUntil = (chat === 'created' && (await delegated?.invite?.(tx, user))) || null
    await publishContactEvent(tx, { clock, roles: book }, { type: 'user.created', user, roles })
    const data = { userId: user.id, roles, chat, ...(invitedUntil === null ? {} : { invitedUntil }) }
    await recordAudit(tx, clock, { actor, action: 'user.created', subject: `${tenant.slug}/${localpart}`, data })
    return { user, invitedUntil }
  })
}

type UserFields = Pick<UserRecord, 'tenantId' | 'localpart' | 'displayName' | 'locale' | 'email' | 'roles' | 'hasInitialPassword'>

function newUser({ clock, random }: Readonly<{ clock: Clock; random: Random }>, fields: UserFields): UserRecord {
  const at = isoNow(clock)
  return {
    id: newId<UserId>(random, 'usr'),
    ...fields,
    avatarUrl: null,
    status: 'active',
    createdAt: at,
    updatedAt: at,
    passwordUnknownSince: null,
    passwordVersion: 0,
  }
}

type EnsureDeps = Readonly<{ clock: Clock; random: Random; roles: RoleBook }>
type EnsuredUser = Readonly<{ user: UserRecord; made: boolean }>
type ChatUser = Readonly<{ tenantId: TenantId; localpart: string; displayName?: string | null }>

/**
 * Returns the user of that canonical name, or creates one with the default role for a user that only the chat server knew. Concurrent first
 * logins create one row. The caller has proved the password, so it is known; the caller also records the audit entry, last in its transaction.
 */
export async function ensureUser(
  { clock, random, roles }: EnsureDeps,
  tx: Tx,
  { tenantId, localpart, displayName = null }: ChatUser,
): Promise<EnsuredUser> {
  const found = await findUser(tx, { tenantId, localpart })
  if (found) return withKnownPassword(tx, found)
  const unset = { locale: null, email: null, hasInitialPassword: false }
  const user = newUser({ clock, random }, { tenantId, localpart, displayName, ...unset, roles: [roles.defaultRole] })
  if (await insertUser(tx, user)) {
    await publishContactEvent(tx, { clock, roles }, { type: 'user.created', user, roles: user.roles })
    return { user, made: true }
  }
  return withKnownPassword(tx, (await findUser(tx, { tenantId, localpart })) as UserRecord)
}

async function withKnownPassword(tx: Tx, user: UserRecord): Promise<EnsuredUser> {
  if (user.passwordUnknownSince === null) return { user, made: false }
  await recordPasswordKnown(tx, user.id)
  return { user: { ...user, passwordUnknownSince: null }, made: false }
}
