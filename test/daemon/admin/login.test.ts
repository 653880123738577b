import { afterEach, expect, test } from 'vitest'
import { createAccount } from '../../../src/daemon/admin/accounts.ts'
import { resetTotp, unlockAccount } from '../../../src/daemon/admin/index.ts'
import { login } from '../../../src/daemon/admin/login.ts'
import { changePassword } from '../../../src/daemon/admin/passwords.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { type AdminWorld, anAccount, anAdminWorld, aPassword, aSession } from '../../support/admin-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const minute = 60_000
const system = { kind: 'system', name: 'test' } as const
const rooms: AdminWorld[] = []
const aRoom = async (db: Db, options: Parameters<typeof anAdminWorld>[1] = {}) => {
  const room = await anAdminWorld(db, options)
  rooms.push(room)
  return room
}
afterEach(() => {
  for (const room of rooms.splice(0)) room.stop()
})

const attempt = (room: AdminWorld, password = 'wrong', name = 'anna', address = '198.51.100.7') =>
  login(room, { name, password, address }).then(
    () => 'in',
    (error: { code?: string }) => error.code ?? String(error),
  )
const fail = async (room: AdminWorld, times: number, name = 'anna') => {
  for (let n = 0; n < times; n++) await attempt(room, 'wrong', name)
}

onBothDialects('login', (fresh) => {
  test('of thirty concurrent attempts ten are checked and the rest refused, for known and unknown names alike', async () => {
    const room = await aRoom(await fresh())
    await anAccount(room)
    for (const name of ['anna', 'nobody']) {
      const answers = await Promise.all(Array.from({ length: 30 }, () => attempt(room, 'wrong', name)))
      expect(answers.filter((code) => code === 'LOGIN_FAILED')).toHaveLength(10)
      expect(answers.filter((code) => code === 'ACCOUNT_LOCKED')).toHaveLength(20)
    }
  })

  test('a locked account refuses the right password too, for fifteen minutes that no attempt extends', async () => {
    const room = await aRoom(await fresh())
    await anAccount(room)
    await fail(room, 10)
    await room.clock.advance(14 * minute)
    expect(await attempt(room, aPassword)).toBe('ACCOUNT_LOCKED')
    await room.clock.advance(minute)
    expect(await attempt(room, aPassword)).toBe('in')
  })

  test('a success clears the failures, and so do fifteen minutes without one', async () => {
    const room = await aRoom(await fresh())
    await anAccount(room)
    await fail(room, 9)
    expect(await attempt(room, aPassword)).toBe('in')
    await fail(room, 9)
    await room.clock.advance(15 * minute)
    await fail(room, 1)
    expect(await attempt(room, aPassword)).toBe('in')
  })

  test('strangers cannot lock the owner out of a known network', async () => {
    const room = await aRoom(await fresh())
    await anAccount(room)
    await aSession(room, 'anna', '192.0.2.1')
    await fail(room, 12)
    expect(await attempt(room, aPassword)).toBe('ACCOUNT_LOCKED')
    expect(await attempt(room, aPassword, 'anna', '192.0.2.99')).toBe('in')
    for (let n = 0; n < 10; n++) await attempt(room, 'wrong', 'anna', '192.0.2.50')
    expect(await attempt(room, aPassword, 'anna', '192.0.2.99')).toBe('ACCOUNT_LOCKED')
  })

  test('the lock is audited, with the name only if the account exists, and unlock removes it', async () => {
    const db = await fresh()
    const room = await aRoom(db)
    await anAccount(room)
    await fail(room, 10)
    await fail(room, 10, 'hunter2')
    const locked = await db.selectFrom('audit').selectAll().where('action', '=', 'account.locked').orderBy('seq').execute()
    expect(locked.map(({ subject }) => subject)).toEqual(['anna', null])
    expect(JSON.stringify(await db.selectFrom('login_failures').selectAll().execute())).not.toContain('hunter2')
    await unlockAccount(room, system, { name: 'Anna' })
    expect(await attempt(room, aPassword)).toBe('in')
  })

  test('disabled accounts and expired one-time passwords look like a wrong password', async () => {
    const db = await fresh()
    const room = await aRoom(db)
    await anAccount(room)
    await anAccount(room, 'ben')
    const { initialPassword } = await createAccount(room, system, { name: 'cleo', role: 'viewer' })
    await db.updateTable('admin_accounts').set({ status: 'disabled' }).where('name', '=', 'ben').execute()
    expect(await attempt(room, aPassword, 'ben')).toBe('LOGIN_FAILED')
    expect(await attempt(room, initialPassword, 'cleo')).toBe('in')
    room.stop() // three days of half seconds are not worth walking through
    await room.clock.advance(72 * 60 * minute)
    expect(await attempt(room, initialPassword, 'cleo')).toBe('LOGIN_FAILED')
  })

  test('account names are not case-sensitive', async () => {
    const room = await aRoom(await fresh())
    await anAccount(room, 'Anna')
    expect(await attempt(room, aPassword, ' ANNA ')).toBe('in')
  })

  test('a session with a one-time password may only change it, and is unrestricted afterwards', async () => {
    const room = await aRoom(await fresh())
    const { initialPassword } = await createAccount(room, system, { name: 'cleo', role: 'operator' })
    const { token, setup } = await login(room, { name: 'cleo', password: initialPassword, address: '192.0.2.1' })
    expect(setup).toEqual(['password'])
    await expect(room.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: 'SETUP_REQUIRED' })
    const actor = await room.authenticate(`Bearer ${token}`, { setup: true })
    if (actor.kind !== 'admin') throw new Error('not a person')
    const change = { currentPassword: initialPassword, address: '192.0.2.1' }
    await expect(changePassword(room, actor, { ...change, newPassword: initialPassword })).rejects.toMatchObject({ code: 'VALIDATION' })
    await changePassword(room, actor, { ...change, newPassword: aPassword })
    expect(await room.authenticate(`Bearer ${token}`)).toMatchObject({ name: 'cleo', role: 'operator' })
    expect(await attempt(room, initialPassword, 'cleo')).toBe('LOGIN_FAILED')
  })

  test('wrong current passwords in a session lock like logins', async () => {
    const room = await aRoom(await fresh())
    await anAccount(room)
    const { actor } = await aSession(room)
    const guess = () => changePassword(room, actor, { currentPassword: 'wrong', newPassword: aPassword, address: '192.0.2.1' })
    for (let n = 0; n < 10; n++)
      await expect(guess()).rejects.toMatchObject({ code: 'WRONG_PASSWORD', message: expect.stringContaining('current password') })
    await expect(guess()).rejects.toMatchObject({ code: 'ACCOUNT_LOCKED' })
  })

  test('a changed password ends the other sessions and keeps the current one', async () => {
    const room = await aRoom(await fresh())
    await anAccount(room)
    const [one, two] = [await aSession(room), await aSession(room)]
    await changePassword(room, one.actor, { currentPassword: aPassword, newPassword: 'another long password', address: '192.0.2.1' })
    expect(await room.authenticate(one.authorization)).toMatchObject({ name: 'anna' })
    await expect(room.authenticate(two.authorization)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('resetting one-time codes ends the sessions of the account', async () => {
    const room = await aRoom(await fresh())
    await anAccount(room)
    const { authorization } = await aSession(room)
    await resetTotp(room, system, { name: 'anna' })
    await room.revocations.readNow()
    await expect(room.authenticate(authorization)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})
