import { z } from 'zod'
import { alertKey, type NewAlert, quoted } from '../../core/alerts/index.ts'
import { type Done, type Fault, isFault } from '../../core/homeserver/index.ts'
import { chatQueue } from '../../core/jobs/index.ts'
import { type Actor, type Clock, isoNow, secret } from '../../core/kit/index.ts'
import { generatePassword } from '../../core/users/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, type DbOrTx, enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { UsersDeps } from './deps.ts'
import { passwordBusy } from './password-lease.ts'
import { findUserById, recordPasswordUnknown, type UserRecord } from './users.repo.ts'

// The database decides; the chat server follows. A change enqueues a job in its transaction, and the job sends the state that is valid when it
// runs: lock and display name of a user, and its account when a restore lost it.

type SyncDeps = Pick<UsersDeps, 'db' | 'clock' | 'homeservers'>

const lockTopic = 'chat.user-lock'
const nameTopic = 'chat.user-name'

const Payload = z.object({ userId: z.string() })

type OneUser = Pick<UserRecord, 'id' | 'tenantId'>

const enqueueSync =
  (topic: string, what: 'locks' | 'names') =>
  (tx: Tx, clock: Clock, { id, tenantId }: OneUser) =>
    enqueueJob(tx, clock, { topic, payload: { userId: id }, ...chatQueue({ tenantId, what, key: id }) })

/** Enqueues the sync of the chat lock, or of the erasure, in the transaction of the change. */
export const enqueueLockSync = enqueueSync(lockTopic, 'locks')
/** Enqueues the sync of the display name in the transaction of the change. */
export const enqueueNameSync = enqueueSync(nameTopic, 'names')

type Homeserver = ReturnType<SyncDeps['homeservers']['of']>
type SyncedField = Readonly<{
  what: 'lock' | 'name'
  send: (homeserver: Homeserver, user: UserRecord) => Promise<Done>
  /** The value that `send` sends. */
  current: (user: UserRecord) => string | null
}>

export const lockField: SyncedField = {
  what: 'lock',
  send: (homeserver, { localpart, status }) =>
    status === 'erased' ? homeserver.erase({ localpart }) : homeserver.setLocked({ localpart, locked: status === 'disabled' }),
  current: ({ status }) => status,
}

export const nameField: SyncedField = {
  what: 'name',
  send: async (homeserver, { localpart, displayName, status }) =>
    status === 'erased' ? { kind: 'ok' } : homeserver.setDisplayName({ localpart, displayName }),
  current: ({ displayName }) => displayName,
}

export const userSyncJobs = (deps: SyncDeps): Readonly<Record<string, JobHandler>> => ({
  [lockTopic]: syncJob(deps, lockField),
  [nameTopic]: syncJob(deps, nameField),
})

/**
 * Sends the current value and reads it again afterwards, until it did not change meanwhile: with concurrent syncs of one user the last send is then
 * right. A deleted user is `absent`.
 */
export async function syncUser({ db, homeservers }: SyncDeps, userId: string, { send, current }: SyncedField): Promise<Done> {
  let result: Done = { kind: 'absent' }
  for (let user = await findUserById(db, userId); user; ) {
    result = await send(homeservers.of(user.tenantId), user)
    const now = await findUserById(db, userId)
    if (isFault(result) || result.kind === 'refused' || !now || current(now) === current(user)) return result
    user = now
  }
  return result
}

/**
 * An unreachable server uses up no attempt, so the job is retried for as long as it takes: a lock must not be lost. A refusal is retried too and
 * raises an alert, as does the last attempt.
 */
const syncJob =
  (deps: SyncDeps, field: SyncedField): JobHandler =>
  async (payload, { last, signal }) => {
    const { userId } = Payload.parse(payload)
    const { what } = field
    const result = await syncUser(deps, userId, field).catch(async (error) => {
      if (last && !signal?.aborted) await raiseSyncAlert(deps, userId, { what, reason: 'internal error of the platform; see its log' })
      throw error
    })
    if (isFault(result)) throw homeserverProblem(result, 'its tenant')
    if (result.kind !== 'refused') return closeSyncAlert(deps, userId)
    await raiseSyncAlert(deps, userId, { what, reason: result.reason })
    throw new Error(`the chat server refused the ${what}: ${result.reason}`)
  }

type AlertDeps = Readonly<{ db: Db; clock: Clock }>
type Refusal = Readonly<{ what: 'lock' | 'name' | 'account'; reason: string }>

/** Platform and chat differ for a user, and a retry does not fix it. */
export const raiseSyncAlert = ({ db, clock }: AlertDeps, userId: string, refusal: Refusal): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const user = await nameOf(tx, userId)
    if (user) await raiseAlert(tx, clock, refusedAlert(user, refusal))
  })

type Refused = Readonly<{ slug: string; localpart: string; status: UserRecord['status'] }>

function refusedAlert({ slug, localpart, status }: Refused, { what, reason }: Refusal): NewAlert {
  const { effect, command } = what === 'lock' ? lockEffects[status] : effects[what]
  return {
    kind: 'chat_refused',
    key: alertKey('chat_refused', `${slug}/${localpart}:${what}`),
    subject: `${slug}/${localpart}`,
    title: `The chat server of ${slug} refuses the ${what} of ${localpart}`,
    body:
      `${effect} Reason: ${quoted(reason)}.\n` +
      `No other user is affected. Fix the cause; ${what === 'name' ? 'the name is then synced automatically.' : 'then the command below syncs it again.'}`,
    command: command(`${slug} ${localpart}`),
  }
}

type Effect = Readonly<{ effect: string; command: (user: string) => NewAlert['command'] }>

const effects: Readonly<Record<'name' | 'account', Effect>> = {
  name: {
    effect: 'The display name in the chat differs from the platform.',
    command: (user) => `tenantry users show ${user}`,
  },
  account: {
    effect: 'The user is registered but has no chat account, so login fails.',
    command: (user) => `tenantry users reset-password ${user}`,
  },
}

const lockEffects: Readonly<Record<UserRecord['status'], Effect>> = {
  active: {
    effect: 'The user is enabled, but the chat may still refuse the login.',
    command: (user) => `tenantry users enable ${user}`,
  },
  disabled: {
    effect: 'The user is disabled and the platform sessions have ended, but devices that are logged in to the chat may still chat.',
    command: (user) => `tenantry users disable ${user} --reason again`,
  },
  erased: {
    effect: 'The user is erased on the platform, but its chat account and messages remain.',
    command: (user) => `tenantry users erase ${user}`,
  },
}

async function closeSyncAlert({ db, clock }: AlertDeps, userId: string): Promise<void> {
  const user = await nameOf(db, userId)
  if (!user) return
  const subject = `${user.slug}/${user.localpart}`
  const open = await db.selectFrom('alerts').select('id').where('subject', '=', subject).where('status', '<>', 'closed').executeTakeFirst()
  if (!open) return
  await db
    .transaction()
    .execute((tx) => closeAlerts(tx, clock, { subject, kinds: ['chat_refused'], because: 'the chat server accepted a later attempt' }))
}

const nameOf = (db: DbOrTx, userId: string) =>
  db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(['slug', 'localpart', 'users.status'])
    .where('users.id', '=', userId)
    .executeTakeFirst()

export type RecreateDeps = SyncDeps & Pick<UsersDeps, 'random'>

const actor: Actor = { kind: 'system', name: 'restore' }

/**
 * Recreates the chat account of a user with a random password that is not returned. The database first records that the password is unknown, so
 * that operators see it even if the call fails later. Throws UNAVAILABLE if the password was set concurrently.
 */
export async function recreateChatAccount(deps: RecreateDeps, user: UserRecord): Promise<Fault | undefined> {
  const { homeservers, random } = deps
  const { id, tenantId, localpart, displayName } = user
  await recordUnknown(deps, user)
  const account = await homeservers.of(tenantId).createUser({ localpart, password: secret(generatePassword(random)), displayName })
  if (isFault(account)) return account
  if (account.kind === 'refused') {
    await raiseSyncAlert(deps, id, { what: 'account', reason: account.reason })
    return undefined
  }
  const locked = await syncUser(deps, id, lockField)
  if (locked.kind === 'refused') await raiseSyncAlert(deps, id, { what: 'lock', reason: locked.reason })
  return isFault(locked) ? locked : undefined
}

async function recordUnknown({ db, clock }: RecreateDeps, user: UserRecord): Promise<void> {
  const { id, tenantId, localpart, passwordUnknownSince, passwordVersion } = user
  if (passwordUnknownSince !== null) return
  await db.transaction().execute(async (tx) => {
    if (!(await recordPasswordUnknown(tx, { id, passwordVersion }, isoNow(clock)))) throw await passwordBusy({ db: tx, clock }, id)
    const { slug } = await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()
    await recordAudit(tx, clock, { actor, action: 'user.remade', subject: `${slug}/${localpart}`, data: { userId: id } })
  })
}
