import { expect, test, vi } from 'vitest'
import { isoIn } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { changePassword } from '../../../src/daemon/sessions/change-password.ts'
import { onBothDialects } from '../../support/databases.ts'
import { dyingAt } from '../../support/dying.ts'
import { aPasswordWorld, expectQuiet, meetings, type PasswordWorld, resetTo, userOf } from '../../support/password-world.ts'
import { aPassword, logIn } from '../../support/sessions-world.ts'

// The database fails after the chat server has written a password: a caller that knows the outcome continues, all others get the true state.

/** A database that this replica cannot reach while `isAway`, each time with another error. */
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

/** Unreachable for the first attempts after the chat server has stored that password. */
function awayFor(maxPolls: number, { chat }: PasswordWorld, localpart: string, password: string): () => boolean {
  let left = maxPolls
  return () => {
    if (left === 0 || chat.users.get(localpart)?.password !== password) return false
    left -= 1
    return true
  }
}

/** Advances time while the work runs and a sleep is pending. */
async function passing<T>({ room: { clock } }: PasswordWorld, work: Promise<T>): Promise<T> {
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

onBothDialects('a written password that the database did not record', (fresh) => {
  test.each([1, 3])('is recorded by the first retry that succeeds, after %i failures: a reset waits for that', async (maxPolls) => {
    const room = await aPasswordWorld(await fresh())
    const changed: string[] = []
    const seen = await meetings(
      room,
      (user) => {
        const isAway = awayFor(maxPolls, room, user.localpart, 'what the user wanted')
        return [user.change('what the user wanted', failing(room.db, isAway)), user.reset]
      },
      async ({ localpart }, [outcome, wasReset]) => {
        changed.push(...(outcome === 'done' ? ['user.password-changed'] : []), 'user.password-reset')
        expect([outcome, wasReset, room.chat.users.get(localpart)?.password]).toEqual([outcome, 'done', resetTo])
        expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: 0 })
      },
    )
    expect([...seen]).toEqual(expect.arrayContaining(['WRONG_PASSWORD done', 'done done']))
    expect((await audited(room.db)).sort()).toEqual(changed.sort())
  })

  test('of a reset is recorded too, and a concurrent change fails', async () => {
    const room = await aPasswordWorld(await fresh())
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
    expect([...seen]).toEqual(expect.arrayContaining(['done WRONG_PASSWORD', 'done UNAVAILABLE', 'done done']))
  })

  test('is valid meanwhile: its caller gets an error after ten seconds, others get Retry-After, and it is recorded once possible', async () => {
    const it = await aPasswordWorld(await fresh())
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
    await vi.waitUntil(async () => (await userOf(db, localpart)).password_lease_until === null, { interval: 5 })
    expect(await audited(db)).toEqual(['user.password-changed'])
    expect(await db.selectFrom('user_passwords').select('user_id').execute()).toEqual([{ user_id: actor.userId }])
    await changePassword(room, actor, change('new', 'newer'))
    expect(await expectQuiet(db, localpart)).toEqual({ openSessions: 1 })
  })

  test('does not delay a shutdown: one more try, and the log names the user', async () => {
    const { room, db, chat, anotherUser } = await aPasswordWorld(await fresh())
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

  test('is recorded once if the commit had gone through, and no caller gets a false conflict', async () => {
    const it = await aPasswordWorld(await fresh())
    const { localpart, actor } = await it.anotherUser()
    const { db: dying } = dyingAt(it.db, 2, 'after')
    const told = await passing(it, changePassword({ ...it.room, db: dying }, actor, change(aPassword, 'new'))).catch((error) => error)
    expect(told).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('has the new password') })
    expect(await audited(it.db)).toEqual(['user.password-changed'])
    expect(await expectQuiet(it.db, localpart)).toEqual({ openSessions: 1 })
    expect(it.room.clock.waiting()).toBe(0)
  })
})

onBothDialects('the first error', (fresh) => {
  test('is returned, and the lease is released once the database is back', async () => {
    const it = await aPasswordWorld(await fresh())
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
    await vi.waitUntil(async () => (await userOf(db, localpart)).password_lease_until === settled, { interval: 5 })
    const early = changePassword(room, actor, change(aPassword, 'new'))
    await expect(early).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 10 })
    await room.clock.advance(9500)
    await changePassword(room, actor, change(aPassword, 'new'))
    expect(await expectQuiet(db, localpart)).toEqual({ openSessions: 1 })
  })

  test('is returned by a login too, even if its attempt cannot be released', async () => {
    const { room, db, chat, anotherUser } = await aPasswordWorld(await fresh())
    const { localpart } = await anotherUser()
    let isAway = false
    chat.during(async () => {
      isAway = true
    })
    const login = logIn({ ...room, db: failing(db, () => isAway) }, { username: localpart })
    await expect(login).rejects.toThrow('the database is away, 1')
  })

  test('of the check device does not replace the result', async () => {
    const { room, chat, anotherUser } = await aPasswordWorld(await fresh())
    const { localpart, actor } = await anotherUser()
    const homeservers = { of: () => ({ ...chat, logout: () => Promise.reject(new Error('its address is unknown')) }) }
    await changePassword({ ...room, homeservers }, actor, change(aPassword, 'new'))
    expect(chat.users.get(localpart)?.password).toBe('new')
  })
})
