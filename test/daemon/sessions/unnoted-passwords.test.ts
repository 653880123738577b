import { expect, test, vi } from 'vitest'
import { isoIn } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { changePassword } from '../../../src/daemon/sessions/change-password.ts'
import { onBothDialects } from '../../support/databases.ts'
import { dyingAt } from '../../support/dying.ts'
import { aPasswordRoom, expectQuiet, meetings, type PasswordRoom, resetTo, userOf } from '../../support/password-room.ts'
import { aPassword, logIn } from '../../support/sessions-room.ts'

// A database that fails after the chat server has written a password: who knows what came of it goes on, and all others are told the truth.

/** The database as a replica meets it that cannot reach it while `isAway`; each time with another error. */
function failing(db: Db, isAway: () => boolean): Db {
  let times = 0
  return db.withPlugin({
    transformQuery: ({ node }) => {
      if (!isAway()) return node
      times += 1
      throw new Error(`the database is away, ${times}`)
    },
    transformResult: async ({ result }) => result,
  })
}

/** Away for the first looks after the chat server has taken that password. */
function awayFor(looks: number, { chat }: PasswordRoom, localpart: string, password: string): () => boolean {
  let left = looks
  return () => {
    if (left === 0 || chat.users.get(localpart)?.password !== password) return false
    left -= 1
    return true
  }
}

/** Time passes as long as the work goes on and somebody sleeps. */
async function passing<T>({ room: { clock } }: PasswordRoom, work: Promise<T>): Promise<T> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  work.then(end, end)
  while (!isOver) {
    await vi.waitUntil(() => isOver || clock.waiting() > 0, { interval: 1, timeout: 10_000 })
    if (!isOver) await clock.advance(500)
  }
  return work
}

const change = (currentPassword: string, newPassword: string) => ({ currentPassword, newPassword, address: '192.0.2.1' })
const audited = async (db: Db) =>
  (await db.selectFrom('audit').select('action').where('action', 'like', 'user.password%').execute()).map(({ action }) => action)

onBothDialects('a password that the database did not take note of', (fresh) => {
  test.each([1, 3])('is noted with the next look that goes through, of %i that fail: a reset waits for that', async (looks) => {
    const room = await aPasswordRoom(await fresh())
    const changed: string[] = []
    const seen = await meetings(
      room,
      (user) => {
        const isAway = awayFor(looks, room, user.localpart, 'what the user wanted')
        return [user.change('what the user wanted', failing(room.db, isAway)), user.reset]
      },
      async ({ localpart }, [outcome, wasReset]) => {
        changed.push(...(outcome === 'done' ? ['user.password-changed'] : []), 'user.password-reset')
        expect([outcome, wasReset, room.chat.users.get(localpart)?.password]).toEqual([outcome, 'done', resetTo])
        expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: 0 })
      },
    )
    expect([...seen]).toEqual(expect.arrayContaining(['LOGIN_FAILED done', 'done done']))
    expect((await audited(room.db)).sort()).toEqual(changed.sort())
  })

  test('of a reset is noted too, and whoever changes it meanwhile comes too late', async () => {
    const room = await aPasswordRoom(await fresh())
    const seen = await meetings(
      room,
      (user) => {
        const isAway = awayFor(2, room, user.localpart, resetTo)
        return [user.resetOver(failing(room.db, isAway)), user.change('what the user wanted')]
      },
      async ({ localpart }, [wasReset]) => {
        expect([wasReset, room.chat.users.get(localpart)?.password]).toEqual(['done', resetTo])
        expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: 0 })
      },
    )
    expect([...seen]).toEqual(expect.arrayContaining(['done LOGIN_FAILED', 'done UNAVAILABLE', 'done done']))
  })

  test('for long counts all the same: who set it is told after ten seconds, others when to come again, and it is noted as soon as it can be', async () => {
    const it = await aPasswordRoom(await fresh())
    const { room, db, chat } = it
    const { localpart, actor } = await it.anotherUser()
    let isAway = true
    const broken = failing(db, () => isAway && chat.users.get(localpart)?.password === 'new')
    const told = await passing(it, changePassword({ ...room, db: broken }, actor, change(aPassword, 'new'))).catch((error) => error)
    expect(told).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('has the new password'),
      cause: { message: /, 1$/ },
    })
    await room.clock.advance(20_000)
    const again = changePassword(room, actor, change('new', 'newer'))
    await expect(again).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: expect.toSatisfy((s) => s >= 30 && s <= 32) })
    expect(await audited(db)).toEqual([])
    isAway = false
    await vi.waitUntil(() => room.clock.waiting() > 0)
    await room.clock.advance(500)
    await vi.waitUntil(async () => (await userOf(db, localpart)).password_turn_until === null, { interval: 5 })
    expect(await audited(db)).toEqual(['user.password-changed'])
    expect(await db.selectFrom('user_passwords').select('user_id').execute()).toEqual([{ user_id: actor.userId }])
    await changePassword(room, actor, change('new', 'newer'))
    expect(await expectQuiet(db, localpart)).toEqual({ openSessions: 1 })
  })

  test('holds up no daemon that ends: it tries once more, and its log says whose password it is', async () => {
    const { room, db, chat, anotherUser } = await aPasswordRoom(await fresh())
    const { localpart, actor } = await anotherUser()
    const ending = new AbortController()
    const told: unknown[] = []
    const log = { ...room.log, error: (of: unknown) => void told.push(of) } as typeof room.log
    const broken = failing(db, () => chat.users.get(localpart)?.password === 'new')
    const changing = changePassword({ ...room, db: broken, log, draining: ending.signal }, actor, change(aPassword, 'new'))
    const refused = expect(changing).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('has the new password'),
    })
    await vi.waitUntil(() => room.clock.waiting() > 0)
    ending.abort()
    await refused
    await vi.waitUntil(() => told.length > 0)
    expect(told).toMatchObject([{ userId: actor.userId }])
    expect(room.clock.waiting()).toBe(0)
  })

  test('although it did, is noted once, and nobody is told that somebody else was at it', async () => {
    const it = await aPasswordRoom(await fresh())
    const { localpart, actor } = await it.anotherUser()
    const { db: dying } = dyingAt(it.db, 2, 'after')
    const told = await passing(it, changePassword({ ...it.room, db: dying }, actor, change(aPassword, 'new'))).catch((error) => error)
    expect(told).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('has the new password') })
    expect(await audited(it.db)).toEqual(['user.password-changed'])
    expect(await expectQuiet(it.db, localpart)).toEqual({ openSessions: 1 })
    expect(it.room.clock.waiting()).toBe(0)
  })
})

onBothDialects('what went wrong first', (fresh) => {
  test('is told, and the turn ends for all that once the database takes it', async () => {
    const it = await aPasswordRoom(await fresh())
    const { room, db, chat } = it
    const { localpart, actor } = await it.anotherUser()
    let isAway = false
    const silent = async () => {
      isAway = true
      return { kind: 'unreachable', retryAfterSeconds: 10, reason: 'it is silent' } as const
    }
    const deps = { ...room, db: failing(db, () => isAway), homeservers: { of: () => ({ ...chat, changePassword: silent }) } }
    await expect(changePassword(deps, actor, change(aPassword, 'new'))).rejects.toMatchObject({ code: 'HOMESERVER_UNREACHABLE' })
    const settled = isoIn(room.clock, 10_000)
    isAway = false
    await vi.waitUntil(() => room.clock.waiting() > 0)
    await room.clock.advance(500)
    await vi.waitUntil(async () => (await userOf(db, localpart)).password_turn_until === settled, { interval: 5 })
    const early = changePassword(room, actor, change(aPassword, 'new'))
    await expect(early).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 10 })
    await room.clock.advance(9500)
    await changePassword(room, actor, change(aPassword, 'new'))
    expect(await expectQuiet(db, localpart)).toEqual({ openSessions: 1 })
  })

  test('is told of a login too, when the place of its attempt cannot be given back either', async () => {
    const { room, db, chat, anotherUser } = await aPasswordRoom(await fresh())
    const { localpart } = await anotherUser()
    let isAway = false
    chat.during(async () => {
      isAway = true
    })
    const login = logIn({ ...room, db: failing(db, () => isAway) }, { username: localpart })
    await expect(login).rejects.toThrow('the database is away, 1')
  })

  test('and what went right is not lost with the device that proved it', async () => {
    const { room, chat, anotherUser } = await aPasswordRoom(await fresh())
    const { localpart, actor } = await anotherUser()
    const homeservers = { of: () => ({ ...chat, logout: () => Promise.reject(new Error('nobody knows its address')) }) }
    await changePassword({ ...room, homeservers }, actor, change(aPassword, 'new'))
    expect(chat.users.get(localpart)?.password).toBe('new')
  })
})
