import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { eraseUser, exportPerson } from '../privacy/index.ts'
import { endUserSessions, unlockLogin } from '../sessions/index.ts'
import { changeUser, createUser, disableUser, enableUser, findUserById, resetPassword, type UserRecord } from '../users/index.ts'
import { delegatedRules } from './delegated-rules.ts'
import type { PeopleDeps } from './deps.ts'
import { inviterOf } from './invite.ts'
import { existingPerson, personView } from './show-people.ts'

// The second way to the verbs of operators: each finds the user in the caller's tenant, and the verb asks the rules of the caller.

type OnePerson = Readonly<{ userId: string }>
type Actor = PlatformPrincipal

const withRules = (deps: PeopleDeps, actor: Actor) => ({ ...deps, delegated: delegatedRules(deps.roles, actor) })

type NewPerson = Omit<Parameters<typeof createUser>[2], 'slug'> & Readonly<{ invite: boolean }>

export async function createPerson(deps: PeopleDeps, actor: Actor, { invite, ...input }: NewPerson) {
  const delegated = delegatedRules(deps.roles, actor, invite ? inviterOf(deps) : undefined)
  const { user, tenant, ...made } = await createUser({ ...deps, delegated }, actor, { slug: actor.tenantSlug, ...input })
  return { ...made, user: personView(tenant, user) }
}

/** Runs a verb of operators for a user of the caller's tenant, and shows the user as it is then. */
async function change(deps: PeopleDeps, { actor, userId }: OnePerson & Readonly<{ actor: Actor }>, verb: Verb) {
  const { tenant, user } = await existingPerson(deps.db, actor, { userId })
  await verb({ slug: tenant.slug, localpart: user.localpart })
  return personView(tenant, (await findUserById(deps.db, userId)) ?? user)
}
type Verb = (one: Readonly<{ slug: string; localpart: string }>) => Promise<unknown>

type Changes = Omit<Parameters<typeof changeUser>[2], 'slug' | 'localpart'>

export const changePerson = (deps: PeopleDeps, actor: Actor, { userId, ...changes }: OnePerson & Changes) =>
  change(deps, { actor, userId }, (one) => changeUser(withRules(deps, actor), actor, { ...one, ...changes }))

export const disablePerson = (deps: PeopleDeps, actor: Actor, { userId, reason }: OnePerson & Readonly<{ reason: string }>) =>
  change(deps, { actor, userId }, (one) => disableUser(withRules(deps, actor), actor, { ...one, reason }))

export const enablePerson = (deps: PeopleDeps, actor: Actor, { userId }: OnePerson) =>
  change(deps, { actor, userId }, (one) => enableUser(withRules(deps, actor), actor, one))

export const erasePerson = (deps: PeopleDeps, actor: Actor, { userId }: OnePerson) =>
  change(deps, { actor, userId }, (one) => eraseUser(withRules(deps, actor), actor, one))

type Reset = OnePerson & Readonly<{ password?: string | undefined; logOutDevices: boolean }>

/** Sets an initial password. The own one is changed with the current one: a session that was left open must not be enough. */
export async function resetPersonPassword(deps: PeopleDeps, actor: Actor, { userId, ...input }: Reset) {
  if (userId === actor.userId)
    throw problem('CONFLICT', 'This is your own account. fix: change your password with POST /api/auth/v1/change-password')
  const { tenant, user } = await existingPerson(deps.db, actor, { userId })
  const { delegated } = withRules(deps, actor)
  const assertMayReset = async (tx: Tx) => delegated.assertMayChange(tx, (await findUserById(tx, userId)) ?? user, {})
  const check = () => deps.db.transaction().execute(assertMayReset)
  const one = { slug: tenant.slug, localpart: user.localpart, isInitial: true, check, onSet: assertMayReset }
  const { record, password } = await resetPassword(deps, actor, { ...input, ...one })
  return { user: personView(tenant, record), password }
}

export const unlockPerson = (deps: PeopleDeps, actor: Actor, one: OnePerson): Promise<undefined> =>
  act(deps, { actor, action: 'user.unlocked', ...one }, (tx, user) => unlockLogin(tx, user))

export async function endPersonSessions(
  deps: PeopleDeps & Readonly<{ revocations: { readNow(): Promise<unknown> } }>,
  actor: Actor,
  one: OnePerson,
) {
  await act(deps, { actor, action: 'user.sessions-ended', ...one }, (tx, { id }) =>
    endUserSessions(tx, deps.clock, { userId: id, by: 'admin' }),
  )
  await deps.revocations.readNow()
  return undefined
}

type Export = OnePerson & Readonly<{ cursor?: string | undefined }>

/** It may hold texts of private spaces, so it needs the same rights as acting for the user. Throws NOT_FOUND, FORBIDDEN. */
export async function exportOnePerson(deps: PeopleDeps, actor: Actor, { userId, cursor }: Export) {
  const { user } = await existingPerson(deps.db, actor, { userId })
  const refusal = delegatedRules(deps.roles, actor).refusalOfUser(user)
  if (refusal !== undefined) throw problem('FORBIDDEN', refusal)
  return exportPerson(deps, actor, { user, slug: actor.tenantSlug, cursor })
}

type Act = OnePerson & Readonly<{ actor: Actor; action: string }>

/** Does something to a user that may be changed, with its audit record. Throws NOT_FOUND, FORBIDDEN, CONFLICT for an erased user. */
const act = (deps: PeopleDeps, { actor, action, userId }: Act, work: (tx: Tx, user: UserRecord) => Promise<void>): Promise<undefined> =>
  deps.db.transaction().execute(async (tx) => {
    const { tenant, user } = await existingPerson(tx, actor, { userId })
    if (user.status === 'erased') throw problem('CONFLICT', `User ${user.localpart} is erased and cannot be changed`)
    await delegatedRules(deps.roles, actor).assertMayChange(tx, user, {})
    await work(tx, user)
    const subject = `${tenant.slug}/${user.localpart}`
    await recordAudit(tx, deps.clock, { actor, action, subject, data: { userId } })
    return undefined
  })
