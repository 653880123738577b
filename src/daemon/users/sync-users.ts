import { z } from 'zod'
import { alertOf } from '../../core/alerts/index.ts'
import { type Done, type Fault, isFault } from '../../core/homeserver/index.ts'
import { chatQueue } from '../../core/jobs/index.ts'
import { type Actor, type Clock, isoNow, secret } from '../../core/kit/index.ts'
import { generatePassword } from '../../core/users/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, type DbOrTx, enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { UsersDeps } from './deps.ts'
import { passwordBeingSet } from './password-turn.ts'
import { findUserById, recordPasswordUnknown, type UserRecord } from './users.repo.ts'

type AlignDeps = Pick<UsersDeps, 'db' | 'clock' | 'homeservers'>

const chatLockTopic = 'chat.user-lock'
const chatNameTopic = 'chat.user-name'

const Payload = z.object({ userId: z.string() })

type OfTenant = Pick<UserRecord, 'id' | 'tenantId'>

const follow =
  (topic: string, what: 'locks' | 'names') =>
  (tx: Tx, clock: Clock, { id, tenantId }: OfTenant) =>
    enqueueJob(tx, clock, { topic, payload: { userId: id }, ...chatQueue({ tenantId, what, key: id }) })

/** Notes in the transaction of a change that the chat server has to lock or unlock a user. */
export const followLock = follow(chatLockTopic, 'locks')
/** The same of its name. */
export const followName = follow(chatNameTopic, 'names')

type Homeserver = ReturnType<AlignDeps['homeservers']['of']>
type Side = Readonly<{
  what: 'lock' | 'name'
  say: (homeserver: Homeserver, user: UserRecord) => Promise<Done>
  /** What was said, to see whether it still holds. */
  said: (user: UserRecord) => string | null
}>

export const lockSide: Side = {
  what: 'lock',
  say: (homeserver, { localpart, status }) => homeserver.setLocked({ localpart, locked: status === 'disabled' }),
  said: ({ status }) => status,
}

export const nameSide: Side = {
  what: 'name',
  say: (homeserver, { localpart, displayName }) => homeserver.setDisplayName({ localpart, displayName }),
  said: ({ displayName }) => displayName,
}

/** Brings the chat server to what the registry says of a user: whether it is locked, and how it is called. */
export const usersWork = (deps: AlignDeps): Readonly<Record<string, JobHandler>> => ({
  [chatLockTopic]: aligner(deps, lockSide),
  [chatNameTopic]: aligner(deps, nameSide),
})

/**
 * Reads what holds now, not what held when it was noted, and looks again afterwards: of two who work at once for one user, whoever speaks last
 * says what is right. A user who is gone is absent.
 */
export async function alignUser({ db, homeservers }: AlignDeps, userId: string, { say, said }: Side): Promise<Done> {
  let result: Done = { kind: 'absent' }
  for (let user = await findUserById(db, userId); user; ) {
    result = await say(homeservers.of(user.tenantId), user)
    const now = await findUserById(db, userId)
    if (isFault(result) || result.kind === 'refused' || !now || said(now) === said(user)) return result
    user = now
  }
  return result
}

/**
 * A server that is away costs no try, so it is asked for as long as it takes: an account that is to be locked must not be forgotten. A server that says no is asked
 * again too, and an operator is told; so it is of what is given up.
 */
const aligner =
  (deps: AlignDeps, side: Side): JobHandler =>
  async (payload, { last, signal }) => {
    const { userId } = Payload.parse(payload)
    const { what } = side
    const result = await alignUser(deps, userId, side).catch(async (error) => {
      if (last && !signal?.aborted) await tellUnsaid(deps, userId, { what, reason: 'the platform itself failed; its log says how' })
      throw error
    })
    if (isFault(result)) throw homeserverProblem(result, 'its tenant')
    if (result.kind !== 'refused') return tellSaid(deps, userId)
    await tellUnsaid(deps, userId, { what, reason: result.reason })
    throw new Error(`the chat server refused it: ${result.reason}`)
  }

type Deps = Readonly<{ db: Db; clock: Clock }>
type Unsaid = Readonly<{ what: 'lock' | 'name' | 'account'; reason: string }>

/** Platform and chat say different things of a user, and it does not mend itself: an operator hears of it. */
export const tellUnsaid = ({ db, clock }: Deps, userId: string, unsaid: Unsaid): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const user = await nameOf(tx, userId)
    if (user) await raiseAlert(tx, clock, alertOf.chat_refused({ ...user, ...unsaid }))
  })

/** The chat server took it after all. */
async function tellSaid({ db, clock }: Deps, userId: string): Promise<void> {
  const user = await nameOf(db, userId)
  if (!user) return
  const subject = `${user.slug}/${user.localpart}`
  const open = await db.selectFrom('alerts').select('id').where('subject', '=', subject).where('status', '<>', 'closed').executeTakeFirst()
  if (!open) return
  await db
    .transaction()
    .execute((tx) => closeAlerts(tx, clock, { subject, kinds: ['chat_refused'], because: 'the chat server took it after all' }))
}

const nameOf = (db: DbOrTx, userId: string) =>
  db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(['slug', 'localpart', 'users.status'])
    .where('users.id', '=', userId)
    .executeTakeFirst()

export type RemakeDeps = AlignDeps & Pick<UsersDeps, 'random'>

const actor: Actor = { kind: 'system', name: 'restore' }

/**
 * Makes the chat account of a user again, with a password that nobody ever sees. That nobody knows it is noted first: whatever breaks off
 * afterwards, the operator sees who needs a new one. Throws UNAVAILABLE when somebody gave it one in this moment.
 */
export async function remakeInChat(deps: RemakeDeps, user: UserRecord): Promise<Fault | undefined> {
  const { homeservers, random } = deps
  const { id, tenantId, localpart, displayName } = user
  await recordUnknown(deps, user)
  const made = await homeservers.of(tenantId).createUser({ localpart, password: secret(generatePassword(random)), displayName })
  if (isFault(made)) return made
  if (made.kind === 'refused') {
    await tellUnsaid(deps, id, { what: 'account', reason: made.reason })
    return undefined
  }
  const locked = await alignUser(deps, id, lockSide)
  if (locked.kind === 'refused') await tellUnsaid(deps, id, { what: 'lock', reason: locked.reason })
  return isFault(locked) ? locked : undefined
}

/** Whom somebody gave a password since the chat server was found without the account, is not to be told as one without. */
async function recordUnknown({ db, clock }: RemakeDeps, user: UserRecord): Promise<void> {
  const { id, tenantId, localpart, passwordUnknownSince, passwordTurn } = user
  if (passwordUnknownSince !== null) return
  await db.transaction().execute(async (tx) => {
    if (!(await recordPasswordUnknown(tx, { id, passwordTurn }, isoNow(clock)))) throw await passwordBeingSet({ db: tx, clock }, id)
    const { slug } = await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()
    await recordAudit(tx, clock, { actor, action: 'user.remade', subject: `${slug}/${localpart}`, data: { userId: id } })
  })
}
