import { expect, test } from 'vitest'
import { type Actor, secret } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { eraseUser } from '../../../src/daemon/privacy/erase-user.ts'
import { userResyncListener } from '../../../src/daemon/users/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aChatUser, aSessionsWorld, logIn, outcomeOf, twoTenants } from '../../support/sessions-world.ts'
import { aUsersWorld } from '../../support/users-world.ts'

const operator: Actor = { kind: 'system', name: 'test' }
const anna = { slug: 'acme', localpart: 'anna' }

/** The tenant `acme` with anna, who has a chat account. */
async function withAnna(db: Db) {
  const room = await aUsersWorld(db)
  await room.api.createUser({ params: { slug: 'acme' }, body: { localpart: 'anna', displayName: 'Anna', password: 'a good password' } })
  const account = () => room.chat.accounts.get('@anna:acme.example')
  const erase = () => eraseUser({ ...room, eraseSteps: [] }, operator, anna)
  return { ...room, account, erase }
}

onBothDialects('the chat account of an erased user', (fresh) => {
  test('is deactivated with erase, and a repeat leaves it so', async () => {
    const { account, erase, work, homeserver } = await withAnna(await fresh())
    for (const _ of ['first', 'again']) {
      await erase()
      await work()
      expect(account()).toMatchObject({ deactivated: true, erased: true, displayName: null })
    }
    const login = await homeserver.login({ localpart: 'anna', password: secret('a good password'), deviceName: 'Phone' })
    expect(login).toEqual({ kind: 'refused' })
  })

  test('waits while the box is fenced, and is erased afterwards', async () => {
    const { account, erase, work, chat, clock } = await withAnna(await fresh())
    chat.state.fence = true
    await erase()
    await work()
    expect(account()).toMatchObject({ deactivated: false })
    chat.state.fence = false
    await clock.advance(60_000)
    await work()
    expect(account()).toMatchObject({ deactivated: true, erased: true })
  })

  test('that a restore brought back is erased again; a missing one is not created', async () => {
    const { account, erase, work, chat, clock, box, db } = await withAnna(await fresh())
    await erase()
    await work()
    for (const restored of [{ ...account(), deactivated: false, erased: false } as never, undefined]) {
      if (restored) chat.accounts.set('@anna:acme.example', restored)
      else chat.accounts.delete('@anna:acme.example')
      await db
        .transaction()
        .execute(async (tx) =>
          userResyncListener({ clock }).resultHandlers?.['tenant-box.restore']?.(
            tx,
            { boxId: box.id } as never,
            { outcome: 'restored' } as never,
          ),
        )
      await work()
      expect(account()?.erased).toBe(restored && true)
    }
    expect(await db.selectFrom('users').select('password_unknown_since').execute()).toEqual([{ password_unknown_since: null }])
  })
})

onBothDialects('an erased user', (fresh) => {
  test('cannot log in while its chat account still takes the password', async () => {
    const db = await fresh()
    const servers = await twoTenants(db)
    const room = await aSessionsWorld(db, servers)
    await aChatUser(servers.ten_one)
    expect(await outcomeOf(room.clock, () => logIn(room))).toBe('in')
    await eraseUser({ ...room, eraseSteps: [] }, operator, { slug: 'one', localpart: 'anna' })
    expect(await outcomeOf(room.clock, () => logIn(room))).toBe('LOGIN_FAILED')
    expect((await db.selectFrom('users').select('status').execute()).map(({ status }) => status)).toEqual(['erased'])
    room.stop()
  })
})
