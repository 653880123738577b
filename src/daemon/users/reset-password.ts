import { type Homeserver, isFault } from '../../core/homeserver/index.ts'
import { type Actor, isoNow, problem, type Secret, secret } from '../../core/kit/index.ts'
import { generatePassword, type ResetPassword } from '../../core/users/index.ts'
import { closeAlerts } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { UsersDeps } from './deps.ts'
import { recordPasswordSet } from './old-passwords.ts'
import { endPasswordTurn, type PasswordTurn, passwordBeingSet, waitForPasswordTurn } from './password-turn.ts'
import { existingUser, type OneUser, userView } from './show-users.ts'
import { countWithoutPassword, findUserById, lockUser, recordPasswordKnown, type UserRecord, updateUser } from './users.repo.ts'
import { noting, writing } from './write-password.ts'

type Deps = Omit<UsersDeps, 'roles'>
type Wanted = OneUser & Readonly<{ password?: string | undefined; logOutDevices: boolean }>

/**
 * For a user who lost the password, or whom nobody gave one. It waits for whoever writes it at this moment, and all who proved the old one meanwhile come
 * too late. All platform sessions end: whoever had the old password is out. Devices stay logged in to
 * the chat unless they are to be logged out too, because they may hold the only keys to what the user wrote. May be called again when its answer was
 * lost. Throws NOT_FOUND, CONFLICT (the chat server does not take it), HOMESERVER_UNREACHABLE, UNAVAILABLE.
 */
export async function resetPassword(deps: Deps, actor: Actor, { password: given, logOutDevices, ...one }: Wanted): Promise<ResetPassword> {
  const { tenant, user } = await existingUser(deps.db, one)
  const password = given ?? generatePassword(deps.random)
  const turn = await waitForPasswordTurn(deps, user.id)
  const wanted = { slug: one.slug, password: secret(password), logOutDevices }
  const chat = await writing(deps, turn, () => setPassword(deps.homeservers.of(tenant.id), user, wanted))
  const now = await noting(deps, turn, () => recordReset(deps, actor, { ...one, tenant, user, turn, chat, logOutDevices }))
  return { user: userView(tenant, now), chat, password: given === undefined ? password : null }
}

type Reset = OneUser &
  Readonly<{
    tenant: Readonly<{ id: string; slug: string }>
    user: UserRecord
    turn: PasswordTurn
    chat: ResetPassword['chat']
    logOutDevices: boolean
  }>

/** Answers the user as it is now. */
const recordReset = (deps: Deps, actor: Actor, { tenant, user, turn, chat, logOutDevices, ...one }: Reset): Promise<UserRecord> =>
  deps.db.transaction().execute(async (tx) => {
    await lockUser(tx, one)
    const now = (await findUserById(tx, user.id)) ?? user
    await recordPasswordKnown(tx, user.id)
    await recordPasswordSet(tx, deps.clock, user)
    const updatedAt = isoNow(deps.clock)
    if (!(await endPasswordTurn(tx, turn))) throw await passwordBeingSet({ ...deps, db: tx }, user.id)
    await updateUser(tx, user, updatedAt, {})
    await deps.unlockLogin(tx, { tenantId: tenant.id, localpart: user.localpart })
    if (now.passwordUnknownSince !== null) await tellLeft(deps, tx, tenant)
    if (chat === 'created') await deps.resyncSpaces(tx, deps.clock, tenant.id) // whom the chat did not know it let into no room
    await deps.endUserSessions(tx, deps.clock, { userId: user.id, by: 'reset' })
    const data = { userId: user.id, chat, logOutDevices }
    await recordAudit(tx, deps.clock, { actor, action: 'user.password-reset', subject: `${one.slug}/${user.localpart}`, data })
    return { ...now, updatedAt, passwordUnknownSince: null }
  })

type New = Readonly<{ slug: string; password: Secret; logOutDevices: boolean }>

/** An account that the chat server does not have is made. */
async function setPassword(homeserver: Homeserver, user: UserRecord, { slug, ...wanted }: New): Promise<ResetPassword['chat']> {
  const { localpart, displayName } = user
  const set = await homeserver.changePassword({ localpart, ...wanted })
  const done = set.kind === 'absent' ? await homeserver.createUser({ localpart, displayName, password: wanted.password }) : set
  if (isFault(done)) throw homeserverProblem(done, slug)
  if (done.kind === 'refused') throw problem('CONFLICT', `the chat server of ${slug} does not take it for ${localpart}: ${done.reason}`)
  if (done.kind === 'exists')
    throw problem('CONFLICT', `the chat account of ${localpart} came into being this moment: try again`, { retryAfterSeconds: 1 })
  return done.kind === 'created' ? 'created' : 'reset'
}

/** The alert is over with the last of them. */
async function tellLeft({ clock }: Deps, tx: Tx, { id, slug }: Readonly<{ id: string; slug: string }>): Promise<void> {
  if ((await countWithoutPassword(tx, id)) > 0) return
  await closeAlerts(tx, clock, { subject: slug, kinds: ['accounts_remade'], because: 'each has a password again' })
}
