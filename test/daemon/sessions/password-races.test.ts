import { afterEach, expect, test } from 'vitest'
import type { TenantId } from '../../../src/core/boxes/index.ts'
import type { Homeserver } from '../../../src/core/homeserver/index.ts'
import type { UserId } from '../../../src/core/users/index.ts'
import { type Db, dialectOf } from '../../../src/daemon/db/index.ts'
import { changePassword } from '../../../src/daemon/sessions/change-password.ts'
import { disableUser } from '../../../src/daemon/users/disable-user.ts'
import { remakeInChat } from '../../../src/daemon/users/remake-in-chat.ts'
import { resetPassword } from '../../../src/daemon/users/reset-password.ts'
import { findUser } from '../../../src/daemon/users/users.repo.ts'
import { onBothDialects } from '../../support/databases.ts'
import type { ChatServer } from '../../support/homeservers.ts'
import { everyOrder, type Stop, type Works } from '../../support/interleavings.ts'
import { aChatUser, aPassword, aSessionsRoom, logIn, type SessionsRoom, twoTenants } from '../../support/sessions-room.ts'

// Who writes a password while others write, prove or shut out: every order in which they can meet, down to what the chat server has done already
// while its answer is still on the way.

const operator = { kind: 'admin', accountId: 'acc_1', name: 'olga', role: 'operator', sessionId: 'ses_a' } as const
const address = '192.0.2.1'
const resetTo = 'what the operator gave'

const rooms: SessionsRoom[] = []
afterEach(() => {
  for (const room of rooms.splice(0)) room.stop()
})

async function aRoom(db: Db) {
  const { ten_one: chat, ten_two } = await twoTenants(db)
  const room = await aSessionsRoom(db, { ten_one: chat, ten_two })
  rooms.push(room)
  let count = 0
  /** A new user with one open session, and those who act on it. */
  const anotherUser = async () => {
    count += 1
    const localpart = `user-${count}`
    await aChatUser(chat, localpart)
    const { token } = await logIn(room, { username: localpart })
    const actor = await room.authenticate(`Bearer ${token}`)
    return { localpart, ...worksOf(room, chat, localpart), change: changeOf(room, chat, actor) }
  }
  return { db, chat, room, anotherUser }
}

/**
 * Stops before the chat server does it and, on SQLite, again before its answer is there: so many orders would take PostgreSQL a minute, and what it
 * adds is that two transactions meet.
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

function needsOf(room: SessionsRoom, chat: ChatServer, stop: Stop): SessionsRoom {
  const sleep = (ms: number) => stop(true).then(() => room.clock.advance(ms))
  return { ...room, clock: { ...room.clock, sleep }, homeservers: { of: () => stopping(room.db, chat, stop) } }
}

const changeOf =
  (room: SessionsRoom, chat: ChatServer, actor: Awaited<ReturnType<SessionsRoom['authenticate']>>) =>
  (newPassword: string): Works[number] =>
  (stop) =>
    changePassword(needsOf(room, chat, stop), actor, { currentPassword: aPassword, newPassword, address })

const worksOf = (room: SessionsRoom, chat: ChatServer, localpart: string) => {
  const one = { slug: 'one', localpart }
  return {
    reset: ((stop) =>
      resetPassword(needsOf(room, chat, stop), operator, { ...one, password: resetTo, logOutDevices: false })) satisfies Works[number],
    disable: (() => disableUser(room, operator, { ...one, reason: 'left' })) satisfies Works[number],
    login: ((stop) => logIn(needsOf(room, chat, stop), { username: localpart })) satisfies Works[number],
  }
}

const userOf = (db: Db, localpart: string) =>
  db.selectFrom('users').select(['id', 'password_turn_until']).where('localpart', '=', localpart).executeTakeFirstOrThrow()

/** Whatever came of it: nobody has a turn any more, and no try at the password is still counted. */
async function expectQuiet(db: Db, localpart: string): Promise<{ openSessions: number }> {
  const { id, password_turn_until } = await userOf(db, localpart)
  expect(password_turn_until).toBeNull()
  expect(await db.selectFrom('user_login_failures').select('subject').where('pending', '>', 0).execute()).toEqual([])
  const open = await db.selectFrom('sessions').select('id').where('user_id', '=', id).where('ended_at', 'is', null).execute()
  return { openSessions: open.length }
}

type Room = Awaited<ReturnType<typeof aRoom>>
type User = Awaited<ReturnType<Room['anotherUser']>>

/** Every order of what `meet` lets meet, each with a user of its own; returns which outcomes there were. */
async function meetings(
  room: Room,
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

onBothDialects('a password that several write', (fresh) => {
  test('after a reset its password holds and no session is open, whenever the user changed it', async () => {
    const room = await aRoom(await fresh())
    const seen = await meetings(
      room,
      ({ change, reset }) => [change('what the user wanted'), reset],
      async ({ localpart }, [changed, wasReset]) => {
        expect(wasReset).toBe('done')
        expect([changed, room.chat.users.get(localpart)?.password]).toEqual([changed, resetTo])
        expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: 0 })
      },
    )
    expect([...seen]).toEqual(expect.arrayContaining(['LOGIN_FAILED done', 'UNAVAILABLE done', 'done done']))
  })

  test('of two who change it by the same old password one does, and its password holds', async () => {
    const room = await aRoom(await fresh())
    const seen = await meetings(
      room,
      ({ change }) => [change('first'), change('second')],
      async ({ localpart }, outcomes) => {
        const by = outcomes.indexOf('done')
        expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
        expect(room.chat.users.get(localpart)?.password).toBe(['first', 'second'][by])
        expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: 1 })
      },
    )
    expect(seen).toContain('done UNAVAILABLE')
    expect(seen).toContain('UNAVAILABLE done')
  })

  test('who is disabled before it is written changes nothing', async () => {
    const room = await aRoom(await fresh())
    const seen = await meetings(
      room,
      ({ change, disable }) => [change('what the user wanted'), disable],
      async ({ localpart }, [changed]) => {
        expect(room.chat.users.get(localpart)?.password).toBe(changed === 'done' ? 'what the user wanted' : aPassword)
        expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: 0 })
      },
    )
    expect([...seen].sort()).toEqual(['UNAUTHENTICATED done', 'done done'])
  })

  test('no login by the old password outlives a reset', async () => {
    const room = await aRoom(await fresh())
    const seen = await meetings(
      room,
      ({ login, reset }) => [login, reset],
      async ({ localpart }) => void expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: 0 }),
    )
    expect([...seen].sort()).toEqual(['LOGIN_FAILED done', 'UNAVAILABLE done', 'done done'])
  })

  test('a login beside a change is in, refused or asked to come again; a password is changed for all that', async () => {
    const room = await aRoom(await fresh())
    const seen = await meetings(
      room,
      ({ login, change }) => [login, change('what the user wanted')],
      async ({ localpart }, [loggedIn]) => {
        expect(room.chat.users.get(localpart)?.password).toBe('what the user wanted')
        expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: loggedIn === 'done' ? 2 : 1 })
      },
    )
    expect([...seen].sort()).toEqual(['LOGIN_FAILED done', 'UNAVAILABLE done', 'done done'])
  })

  test('an account that a restore lost is marked as without a password only as long as nobody gave it one', async () => {
    const { db, chat, room, anotherUser } = await aRoom(await fresh())
    let localpart = ''
    const make = async (): Promise<Works> => {
      const user = await anotherUser()
      localpart = user.localpart
      chat.users.delete(localpart)
      const remake: Works[number] = async (stop) => {
        const known = await findUser(db, { tenantId: 'ten_one' as TenantId, localpart })
        await stop()
        if (known && !chat.users.has(localpart)) await remakeInChat(needsOf(room, chat, stop), known)
      }
      return [remake, user.reset]
    }
    const seen = new Set<string>()
    await everyOrder(make, async ([remade, wasReset]) => {
      seen.add(`${remade} ${wasReset}`)
      const found = await findUser(db, { tenantId: 'ten_one', localpart })
      const isKnown = chat.users.get(localpart)?.password === resetTo
      expect([remade, wasReset, found?.passwordUnknownSince === null]).toEqual([remade, wasReset, isKnown])
      expect(isKnown).toBe(wasReset === 'done')
    })
    expect([...seen].sort()).toEqual(['UNAVAILABLE done', 'done CONFLICT', 'done done'])
  })

  test('a process that died with the turn holds it for two minutes: a reset waits, says when to come again, and then goes through', async () => {
    const { db, chat, room, anotherUser } = await aRoom(await fresh())
    const { localpart } = await anotherUser()
    const { id } = await userOf(db, localpart)
    const until = new Date(room.clock.now().getTime() + 120_000).toISOString()
    await db
      .updateTable('users')
      .set({ password_turn: 1, password_turn_until: until })
      .where('id', '=', id as UserId)
      .execute()
    const clock = { ...room.clock, sleep: (ms: number) => room.clock.advance(ms) }
    const reset = () => resetPassword({ ...room, clock }, operator, { slug: 'one', localpart, password: resetTo, logOutDevices: false })
    await expect(reset()).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 1 })
    expect(chat.users.get(localpart)?.password).toBe(aPassword)
    await room.clock.advance(110_000)
    await reset()
    expect(chat.users.get(localpart)?.password).toBe(resetTo)
    await expectQuiet(db, localpart)
  })

  test('a chat server that does not answer may still write: nobody else does for ten seconds', async () => {
    const { db, chat, room, anotherUser } = await aRoom(await fresh())
    const { localpart, reset } = await anotherUser()
    const away = { kind: 'unreachable', retryAfterSeconds: 10, reason: 'it is silent' } as const
    chat.fail(away)
    const clock = { ...room.clock, sleep: (ms: number) => room.clock.advance(ms) }
    const given = { slug: 'one', localpart, password: resetTo, logOutDevices: false }
    await expect(resetPassword({ ...room, clock }, operator, given)).rejects.toMatchObject({ code: 'HOMESERVER_UNREACHABLE' })
    const until = (await userOf(db, localpart)).password_turn_until
    expect(until).toBe(new Date(room.clock.now().getTime() + 10_000).toISOString())
    chat.fail(undefined)
    await reset(async () => room.clock.advance(10_000))
    expect(chat.users.get(localpart)?.password).toBe(resetTo)
  })
})
