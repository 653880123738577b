import { z } from 'zod'
import { type Done, isFault } from '../../core/homeserver/index.ts'
import { enqueueOutbox, type OutboxHandler } from '../db/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import type { UsersNeeds } from './needs.ts'
import { findUserById, type UserRecord } from './users.repo.ts'

type Needs = Pick<UsersNeeds, 'db' | 'clock' | 'homeservers'>

export const chatLockTopic = 'chat.user-lock'
export const chatNameTopic = 'chat.user-name'

const Payload = z.object({ userId: z.string() })

/** Brings the chat server to what the registry says of a user: whether it is locked, and how it is called. */
export const usersWork = (needs: Needs): Readonly<Record<string, OutboxHandler>> => ({
  [chatLockTopic]: aligner(needs, chatLockTopic, {
    say: (homeserver, { localpart, status }) => homeserver.setLocked({ localpart, locked: status === 'disabled' }),
    said: ({ status }) => status,
  }),
  [chatNameTopic]: aligner(needs, chatNameTopic, {
    say: (homeserver, { localpart, displayName }) => homeserver.setDisplayName({ localpart, displayName }),
    said: ({ displayName }) => displayName,
  }),
})

type Homeserver = ReturnType<Needs['homeservers']['of']>
type Side = Readonly<{
  say: (homeserver: Homeserver, user: UserRecord) => Promise<Done>
  /** What was said, to see whether it still holds. */
  said: (user: UserRecord) => string | null
}>

/**
 * Reads what holds now, not what held when it was noted, and looks again afterwards: of two who work at once for one user, whoever speaks last
 * says what is right. A server that is away is asked for as long as it takes: an account that is to be locked must not be forgotten.
 */
const aligner =
  ({ db, clock, homeservers }: Needs, topic: string, { say, said }: Side): OutboxHandler =>
  async (payload, { last }) => {
    const { userId } = Payload.parse(payload)
    for (let user = await findUserById(db, userId); user; ) {
      const result = await say(homeservers.of(user.tenantId), user)
      if (isFault(result) && last) return db.transaction().execute((tx) => enqueueOutbox(tx, clock, { topic, payload }))
      if (isFault(result)) throw homeserverProblem(result, 'its tenant')
      if (result.kind === 'refused') throw new Error(`the chat server refused it: ${result.reason}`)
      const now = await findUserById(db, userId)
      if (!now || said(now) === said(user)) return
      user = now
    }
  }
