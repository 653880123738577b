import { expect, test } from 'vitest'
import type { TenantId, UserId } from '../../../src/core/kit/index.ts'
import { resetPassword } from '../../../src/daemon/users/reset-password.ts'
import { recreateChatAccount } from '../../../src/daemon/users/sync-users.ts'
import { findUser } from '../../../src/daemon/users/users.repo.ts'
import { onBothDialects } from '../../support/databases.ts'
import { everyOrder, type Works } from '../../support/interleavings.ts'
import { aPasswordWorld, expectQuiet, meetings, needsOf, operator, resetTo, userOf } from '../../support/password-world.ts'
import { aPassword } from '../../support/sessions-world.ts'

// Concurrent password writes, proofs and lockouts in every order, including writes that the chat server has done
// before its response arrives.

onBothDialects('concurrent password changes', (fresh) => {
  test('after a reset its password is valid and no session is open, whenever the user changed it', async () => {
    const room = await aPasswordWorld(await fresh())
    const seen = await meetings(
      room,
      ({ change, reset }) => [change('what the user wanted'), reset],
      async ({ localpart }, [changed, wasReset]) => {
        expect(wasReset).toBe('done')
        expect([changed, room.chat.users.get(localpart)?.password]).toEqual([changed, resetTo])
        expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: 0 })
      },
    )
    expect([...seen]).toEqual(expect.arrayContaining(['WRONG_PASSWORD done', 'UNAVAILABLE done', 'done done']))
  })

  test('of two changes with the same old password one succeeds, and its password is valid', async () => {
    const room = await aPasswordWorld(await fresh())
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

  test('a user disabled before the write changes nothing', async () => {
    const room = await aPasswordWorld(await fresh())
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

  test('no login with the old password outlives a reset', async () => {
    const room = await aPasswordWorld(await fresh())
    const seen = await meetings(
      room,
      ({ login, reset }) => [login, reset],
      async ({ localpart }) => void expect(await expectQuiet(room.db, localpart)).toEqual({ openSessions: 0 }),
    )
    expect([...seen].sort()).toEqual(['LOGIN_FAILED done', 'UNAVAILABLE done', 'done done'])
  })

  test('a login during a change succeeds, is refused or gets Retry-After; the password is changed in every case', async () => {
    const room = await aPasswordWorld(await fresh())
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

  test('an account lost by a restore is marked as without a password only until it gets one', async () => {
    const { db, chat, room, anotherUser } = await aPasswordWorld(await fresh())
    let localpart = ''
    const make = async (): Promise<Works> => {
      const user = await anotherUser()
      localpart = user.localpart
      chat.users.delete(localpart)
      const remake: Works[number] = async (stop) => {
        const known = await findUser(db, { tenantId: 'ten_one' as TenantId, localpart })
        await stop()
        if (known && !chat.users.has(localpart)) await recreateChatAccount(needsOf(room, chat, stop), known)
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

  test('the lease of a dead process lasts two minutes: a reset gets Retry-After, then succeeds', async () => {
    const { db, chat, room, anotherUser } = await aPasswordWorld(await fresh())
    const { localpart } = await anotherUser()
    const { id } = await userOf(db, localpart)
    const until = new Date(room.clock.now().getTime() + 120_000).toISOString()
    await db
      .updateTable('users')
      .set({ password_version: 1, password_lease_until: until })
      .where('id', '=', id as UserId)
      .execute()
    const clock = { ...room.clock, sleep: (ms: number) => room.clock.advance(ms) }
    const reset = () => resetPassword({ ...room, clock }, operator, { slug: 'one', localpart, password: resetTo, logOutDevices: false })
    await expect(reset()).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 11 })
    expect(chat.users.get(localpart)?.password).toBe(aPassword)
    await room.clock.advance(110_000)
    await reset()
    expect(chat.users.get(localpart)?.password).toBe(resetTo)
    await expectQuiet(db, localpart)
  })

  test('a chat server that does not answer may still write, so no other write begins for ten seconds', async () => {
    const { db, chat, room, anotherUser } = await aPasswordWorld(await fresh())
    const { localpart, reset } = await anotherUser()
    const away = { kind: 'unreachable', retryAfterSeconds: 10, reason: 'it is silent' } as const
    chat.fail(away)
    const clock = { ...room.clock, sleep: (ms: number) => room.clock.advance(ms) }
    const given = { slug: 'one', localpart, password: resetTo, logOutDevices: false }
    await expect(resetPassword({ ...room, clock }, operator, given)).rejects.toMatchObject({ code: 'HOMESERVER_UNREACHABLE' })
    const until = (await userOf(db, localpart)).password_lease_until
    expect(until).toBe(new Date(room.clock.now().getTime() + 10_000).toISOString())
    chat.fail(undefined)
    await reset(async () => room.clock.advance(10_000))
    expect(chat.users.get(localpart)?.password).toBe(resetTo)
  })
})
