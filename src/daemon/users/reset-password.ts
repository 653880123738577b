import { alertKey } from '../../core/alerts/index.ts'
import { type Homeserver, isFault } from '../../core/homeserver/index.ts'
import { type Actor, type Clock, elapsedMs, isoIn, isoNow, plural, problem, type Secret, secret } from '../../core/kit/index.ts'
import { generatePassword, type ResetPassword } from '../../core/users/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import { assertFitPassword } from './create-user.ts'
import type { UsersDeps } from './deps.ts'
import {
  type PasswordLease,
  passwordBusy,
  recordUnderLease,
  releasePasswordLease,
  waitForPasswordLease,
  writeUnderLease,
} from './password-lease.ts'
import { changeableUser, type OneUser, userView } from './show-users.ts'
import { countWithoutPassword, findUserById, lockUser, recordPasswordKnown, type UserRecord, updateUser } from './users.repo.ts'

type Deps = Omit<UsersDeps, 'roles'>
type ResetInput = OneUser &
  Readonly<{
    password?: string | undefined
    logOutDevices: boolean
    /** The user must replace the password at the next login. */
    isInitial?: boolean
    /** Runs under the lease, before the password is written; throws where it must not be. */
    check?: (user: UserRecord) => Promise<void>
    /** Belongs to the transaction that records the password. */
    onSet?: (tx: Tx) => Promise<void>
  }>

/**
 * Sets a new password for a user who lost it. It waits for a running password change; callers that proved the old password meanwhile fail. All
 * platform sessions end. Devices stay logged in to the chat unless `logOutDevices` is set, because they may hold the only keys of encrypted
 * messages. The call can be repeated. Throws NOT_FOUND, CONFLICT (rejected by the chat server), HOMESERVER_UNREACHABLE, UNAVAILABLE.
 */
export async function resetPassword(
  deps: Deps,
  actor: Actor,
  { password: requested, check, ...input }: ResetInput,
): Promise<ResetPassword & Readonly<{ record: UserRecord }>> {
  const { slug } = input
  const { tenant, user } = await changeableUser(deps.db, { slug, localpart: input.localpart })
  if (requested !== undefined) assertFitPassword(requested, { ...user, slug })
  const password = requested ?? generatePassword(deps.random)
  const lease = await waitForPasswordLease(deps, user.id)
  const chat = await writeUnderLease(deps, lease, async () => {
    await check?.(user)
    return setPassword(deps.homeservers.of(tenant.id), user, { slug, password: secret(password), logOutDevices: input.logOutDevices })
  })
  const record = await recordUnderLease(deps, lease, () => recordReset(deps, actor, { ...input, tenant, user, lease, chat }))
  return { user: userView(tenant, record), record, chat, password: requested === undefined ? password : null }
}

/** The answer to an operator. */
export const resetView = ({ user, chat, password }: ResetPassword): ResetPassword => ({ user, chat, password })

type Reset = Omit<ResetInput, 'password' | 'check'> &
  Readonly<{ tenant: Readonly<{ id: string; slug: string }>; user: UserRecord; lease: PasswordLease; chat: ResetPassword['chat'] }>

/** Returns the user with its current values. */
const recordReset = (deps: Deps, actor: Actor, { tenant, user, lease, chat, ...input }: Reset): Promise<UserRecord> =>
  deps.db.transaction().execute(async (tx) => {
    const { slug, logOutDevices, isInitial = false, onSet } = input
    await lockUser(tx, { slug, localpart: user.localpart })
    const now = (await findUserById(tx, user.id)) ?? user
    await recordPasswordKnown(tx, user.id)
    await recordPasswordSet(tx, deps.clock, { ...user, isInitial })
    await onSet?.(tx)
    const updatedAt = isoNow(deps.clock)
    if (!(await releasePasswordLease(tx, lease))) throw await passwordBusy({ ...deps, db: tx }, user.id)
    await updateUser(tx, user, { updatedAt, changes: {} })
    await deps.unlockLogin(tx, { tenantId: tenant.id, localpart: user.localpart })
    if (now.passwordUnknownSince !== null) await closeRecreatedAlert(deps, tx, tenant)
    // A new account is in no room yet.
    if (chat === 'created') await deps.resyncSpaces(tx, deps.clock, tenant.id)
    await deps.endUserSessions(tx, deps.clock, { userId: user.id, by: 'reset' })
    const data = { userId: user.id, chat, logOutDevices, ...(isInitial ? { isInitial } : {}) }
    await recordAudit(tx, deps.clock, { actor, action: 'user.password-reset', subject: `${slug}/${user.localpart}`, data })
    return { ...now, updatedAt, passwordUnknownSince: null, hasInitialPassword: isInitial }
  })

type NewPassword = Readonly<{ slug: string; password: Secret; logOutDevices: boolean }>

/** Creates the chat account if it is missing. */
async function setPassword(homeserver: Homeserver, user: UserRecord, { slug, ...input }: NewPassword): Promise<ResetPassword['chat']> {
  const { localpart, displayName } = user
  const set = await homeserver.changePassword({ localpart, ...input })
  const done = set.kind === 'absent' ? await homeserver.createUser({ localpart, displayName, password: input.password }) : set
  if (isFault(done)) throw homeserverProblem(done, slug)
  if (done.kind === 'refused') throw problem('CONFLICT', `The chat server of ${slug} rejected the password of ${localpart}: ${done.reason}`)
  if (done.kind === 'exists')
    throw problem('CONFLICT', `The chat account of ${localpart} was created concurrently. fix: try again`, { retryAfterSeconds: 1 })
  return done.kind === 'created' ? 'created' : 'reset'
}

/** The alert of users whose chat account was lost. */
export const recreatedKey = (slug: string): string => alertKey('passwords_lost', `accounts:${slug}`)

async function closeRecreatedAlert(
  { clock }: Pick<Deps, 'clock'>,
  tx: Tx,
  { id, slug }: Readonly<{ id: string; slug: string }>,
): Promise<void> {
  if ((await countWithoutPassword(tx, id)) > 0) return
  await closeAlerts(tx, clock, { keys: [recreatedKey(slug)], because: 'all users have a password again' })
}

type NewlySet = Readonly<{ id: string; tenantId: string; isInitial?: boolean }>

/** Records that a user has a new password. Closes the alert about outdated passwords with the last of them. */
export async function recordPasswordSet(tx: Tx, clock: Clock, { id, tenantId, isInitial = false }: NewlySet): Promise<void> {
  await tx
    .updateTable('users')
    .set({ password_initial: isInitial ? 1 : 0 })
    .where('id', '=', id)
    .execute()
  const before = await tx.selectFrom('user_passwords').select('old_since').where('user_id', '=', id).executeTakeFirst()
  const fresh = { set_at: isoNow(clock), old_since: null }
  await tx
    .insertInto('user_passwords')
    .values({ user_id: id, tenant_id: tenantId, ...fresh })
    .onConflict((c) => c.column('user_id').doUpdateSet(fresh))
    .execute()
  if (before?.old_since) await updateOutdatedAlert(tx, clock, tenantId)
}

/** When the platform last set the password of a user; undefined: never. */
export async function passwordSetAt(db: DbOrTx, userId: string): Promise<string | undefined> {
  const row = await db.selectFrom('user_passwords').select('set_at').where('user_id', '=', userId).executeTakeFirst()
  return row?.set_at
}

type ErasedUser = Pick<UserRecord, 'id' | 'tenantId' | 'passwordUnknownSince'>

/** The password of an erased user cannot be set again, so no alert waits for it. */
export async function forgetPassword(tx: Tx, clock: Clock, { slug, user }: Readonly<{ slug: string; user: ErasedUser }>): Promise<void> {
  const { id, tenantId } = user
  const forgotten = await tx.deleteFrom('user_passwords').where('user_id', '=', id).returning('old_since').executeTakeFirst()
  if (forgotten?.old_since) await updateOutdatedAlert(tx, clock, tenantId)
  if (user.passwordUnknownSince === null) return
  await recordPasswordKnown(tx, id)
  await closeRecreatedAlert({ clock }, tx, { id: tenantId, slug })
}

/** Tolerance between the clocks of agent and daemon. One user too many costs a check, one too few leaves an old password unnoticed. */
const maxClockSkewMs = 60_000

type RestoredPasswords = Readonly<{ tenantId: string; takenAt: string }>

/**
 * Marks the users whose password was set after the snapshot: the chat server has an older one again. Users who set theirs before have the newest,
 * even if an earlier restore had reverted it. Returns the number of outdated passwords.
 */
export async function markOutdatedPasswords(tx: Tx, clock: Clock, { tenantId, takenAt }: RestoredPasswords): Promise<number> {
  const from = isoIn(clock, -elapsedMs(takenAt, isoNow(clock)) - maxClockSkewMs)
  const ofTenant = tx.updateTable('user_passwords').where('tenant_id', '=', tenantId)
  await ofTenant.set({ old_since: null }).where('set_at', '<', from).where('old_since', '>', takenAt).execute()
  // With several restores the first counts: snapshots taken after it contain the old password too.
  await ofTenant
    .set({ old_since: isoNow(clock) })
    .where('set_at', '>=', from)
    .where('old_since', 'is', null)
    .execute()
  return updateOutdatedAlert(tx, clock, tenantId)
}

async function updateOutdatedAlert(tx: Tx, clock: Clock, tenantId: string): Promise<number> {
  const { slug } = await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()
  const count = await countOutdatedPasswords(tx, tenantId)
  const key = alertKey('passwords_lost', `outdated:${slug}`)
  if (count === 0) await closeAlerts(tx, clock, { keys: [key], because: 'no outdated password is left' })
  else
    await raiseAlert(tx, clock, {
      kind: 'passwords_lost',
      key,
      subject: slug,
      title: `${plural(count, 'user')} of ${slug} ${count === 1 ? 'has' : 'have'} an older password again after a restore`,
      body:
        'Their passwords were changed after the snapshot was taken, so the previous passwords are valid again. Anyone who knows one can log in.\n' +
        'The command below lists them; `tenantry users reset-password` sets a new password, or users change it themselves.',
      command: `tenantry users list ${slug} --old-password`,
    })
  return count
}

async function countOutdatedPasswords(db: DbOrTx, tenantId: string): Promise<number> {
  const { count } = await db
    .selectFrom('user_passwords')
    .select((of) => of.fn.countAll().as('count'))
    .where('tenant_id', '=', tenantId)
    .where('old_since', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}
