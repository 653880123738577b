import { z } from 'zod'
import { type Done, isFault } from '../../core/homeserver/index.ts'
import { chatQueue } from '../../core/jobs/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { UsersDeps } from './deps.ts'
import { tellSaid, tellUnsaid } from './tell-unsaid.ts'
import { findUserById, type UserRecord } from './users.repo.ts'

export type AlignDeps = Pick<UsersDeps, 'db' | 'clock' | 'homeservers'>

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
