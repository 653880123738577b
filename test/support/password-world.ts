import { expect, onTestFinished } from 'vitest'
import type { Homeserver } from '../../src/core/homeserver/index.ts'
import { type Db, dialectOf } from '../../src/daemon/db/index.ts'
import { changePassword } from '../../src/daemon/sessions/change-password.ts'
import { disableUser } from '../../src/daemon/users/change-user.ts'
import { resetPassword } from '../../src/daemon/users/reset-password.ts'
import type { ChatServer } from './homeservers.ts'
import { everyOrder, type Stop, type Works } from './interleavings.ts'
import { aChatUser, aPassword, aSessionsWorld, logIn, type SessionsWorld, twoTenants } from './sessions-world.ts'

// Concurrent password writers and logins of one user; each pauses where others can run in between.

export const operator = { kind: 'admin', accountId: 'acc_1', name: 'olga', role: 'operator', sessionId: 'ses_a' } as const
const address = '192.0.2.1'
export const resetTo = 'what the operator gave'

export async function aPasswordWorld(db: Db) {
  const { ten_one: chat, ten_two } = await twoTenants(db)
  const room = await aSessionsWorld(db, { ten_one: chat, ten_two })
  onTestFinished(room.stop)
  let count = 0
  /** A new user with one open session, and the operations on it. */
  const anotherUser = async () => {
    count += 1
    const localpart = `user-${count}`
    await aChatUser(chat, localpart)
    const { token } = await logIn(room, { username: localpart })
    const actor = await room.authenticate(`Bearer ${token}`)
    return { localpart, actor, ...worksOf(room, chat, localpart), change: changeOf(room, chat, actor) }
  }
  return { db, chat, room, anotherUser }
}

/**
 * Pauses before the chat server's write and, on SQLite, again before its response: on PostgreSQL so many orders would take a minute, and
 * there only two concurrent transactions differ.
 */
function stopping(db: Db, chat: ChatServer, stop: Stop): Homeserver {
  const isBoth = dialectOf(db) === 'sqlite'
  const around =
    <Asked, Answer>(work: (asked: Asked) => Promise<Answer>) =>
    async (asked: Asked) => {
      await stop()
      const answer = await work(asked)
      if (isBoth) await stop()
      return answer
    }
  const { login, changePassword: change, createUser } = chat
  return { ...chat, login: around(login), changePassword: around(change), createUser: around(createUser) }
}

export function needsOf(room: SessionsWorld, chat: ChatServer, stop: Stop): SessionsWorld {
  const sleep = (ms: number) => stop(true).then(() => room.clock.advance(ms))
  return { ...room, clock: { ...room.clock, sleep }, homeservers: { of: () => stopping(room.db, chat, stop) } }
}

const changeOf =
  (room: SessionsWorld, chat: ChatServer, actor: Awaited<ReturnType<SessionsWorld['authenticate']>>) =>
  (newPassword: string, db = room.db): Works[number] =>
  (stop) =>
    changePassword({ ...needsOf(room, chat, stop), db }, actor, { currentPassword: aPassword, newPassword, address })

const worksOf = (room: SessionsWorld, chat: ChatServer, localpart: string) => {
  const one = { slug: 'one', localpart }
  const resetOver =
    (db: Db): Works[number] =>
    (stop) =>
      resetPassword({ ...needsOf(room, chat, stop), db }, operator, { ...one, password: resetTo, logOutDevices: false })
  return {
    resetOver,
    reset: resetOver(room.db),
    disable: (() => disableUser(room, operator, { ...one, reason: 'left' })) satisfies Works[number],
    login: ((stop) => logIn(needsOf(room, chat, stop), { username: localpart })) satisfies Works[number],
  }
}

export const userOf = (db: Db, localpart: string) =>
  db.selectFrom('users').select(['id', 'password_lease_until']).where('localpart', '=', localpart).executeTakeFirstOrThrow()

/** In every outcome: no lease is held, and no password attempt is still counted. */
export async function expectQuiet(db: Db, localpart: string): Promise<{ openSessions: number }> {
  const { id, password_lease_until } = await userOf(db, localpart)
  expect(password_lease_until).toBeNull()
  expect(await db.selectFrom('user_login_failures').select('subject').where('pending', '>', 0).execute()).toEqual([])
  const open = await db.selectFrom('sessions').select('id').where('user_id', '=', id).where('ended_at', 'is', null).execute()
  return { openSessions: open.length }
}

export type PasswordWorld = Awaited<ReturnType<typeof aPasswordWorld>>
type User = Awaited<ReturnType<PasswordWorld['anotherUser']>>

/** Runs every order of the works of `meet`, each with its own user; returns the set of outcomes. */
export async function meetings(
  room: PasswordWorld,
  meet: (user: User) => Works,
  look: (user: User, outcomes: string[]) => Promise<void>,
): Promise<Set<string>> {
  const seen = new Set<string>()
  let user = {} as User
  const make = async () => {
    user = await room.anotherUser()
    return meet(user)
  }
  await everyOrder(make, async (outcomes) => {
    seen.add(outcomes.join(' '))
    await look(user, outcomes)
  })
  return seen
}
