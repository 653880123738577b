import { Secret, TOTP } from 'otpauth'
import { afterEach, expect, test } from 'vitest'
import { login } from '../../../src/daemon/admin/login.ts'
import { confirmTotp, disableTotp, enrolTotp } from '../../../src/daemon/admin/totp.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { type AdminWorld, anAccount, anAdminWorld, aPassword, aSession } from '../../support/admin-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const address = '192.0.2.1'
let room: AdminWorld
afterEach(() => room.stop())

/** An authenticator app with the secret; `offset` is its clock error in steps. */
const anApp =
  (secret: string) =>
  (offset = 0) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: room.clock.now().getTime() + offset * 30_000 })

async function enrolled(db: Db, totpRequired = false) {
  room = await anAdminWorld(db, { totpRequired })
  await anAccount(room)
  const { actor, authorization } = await aSession(room)
  const { secret, uri } = await enrolTotp(room, actor, { password: aPassword, address })
  const app = anApp(secret)
  const { recoveryCodes } = await confirmTotp(room, actor, { totp: app() })
  return { app, actor, authorization, recoveryCodes, uri, secret }
}
const attempt = (totp?: string) =>
  login(room, { name: 'anna', password: aPassword, totp, address }).then(
    () => 'in',
    (error: { code?: string }) => error.code,
  )

onBothDialects('one-time codes', (fresh) => {
  test('a login without the code asks for it, and counts no attempt', async () => {
    const { app } = await enrolled(await fresh())
    for (let n = 0; n < 12; n++) expect(await attempt()).toBe('TOTP_REQUIRED')
    await room.clock.advance(30_000)
    expect(await attempt(app())).toBe('in')
  })

  test('a code is accepted once, also with two concurrent logins', async () => {
    const { app } = await enrolled(await fresh())
    expect(await attempt(app())).toBe('LOGIN_FAILED') // confirming has used it up
    await room.clock.advance(30_000)
    const both = await Promise.all([attempt(app()), attempt(app())])
    expect(both.sort()).toEqual(['LOGIN_FAILED', 'in'])
    expect(await attempt(app(-1))).toBe('LOGIN_FAILED') // an older one neither
  })

  test('a code one step early or late is accepted, two steps are not', async () => {
    const { app } = await enrolled(await fresh())
    await room.clock.advance(300_000)
    expect(await attempt(app(-2))).toBe('LOGIN_FAILED')
    expect(await attempt(app(2))).toBe('LOGIN_FAILED')
    expect(await attempt(app(-1))).toBe('in')
    expect(await attempt(app(1))).toBe('in')
  })

  test('wrong codes lock like wrong passwords', async () => {
    await enrolled(await fresh())
    for (let n = 0; n < 10; n++) expect(await attempt('000000')).toBe('LOGIN_FAILED')
    expect(await attempt('000000')).toBe('ACCOUNT_LOCKED')
  })

  test('each of ten recovery codes opens one session, in any spelling', async () => {
    const { recoveryCodes } = await enrolled(await fresh())
    expect(new Set(recoveryCodes).size).toBe(10)
    // Five bits a character: at least 128 bits.
    for (const code of recoveryCodes) expect(code).toMatch(/^([0-9a-z]{4}-){6}[0-9a-z]{4}$/)
    const [first, second] = recoveryCodes as [string, string]
    expect(await attempt(first)).toBe('in')
    expect(await attempt(first)).toBe('LOGIN_FAILED')
    expect(await attempt(second.toUpperCase().replaceAll('-', ''))).toBe('in')
  })

  test('where codes are required, a session without them may only set them up', async () => {
    room = await anAdminWorld(await fresh(), { totpRequired: true })
    await anAccount(room)
    const { setup, token } = await login(room, { name: 'anna', password: aPassword, address })
    expect(setup).toEqual(['totp'])
    await expect(room.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: 'SETUP_REQUIRED' })
    const { actor } = await aSession(room)
    const { secret } = await enrolTotp(room, actor, { password: aPassword, address })
    await expect(room.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: 'SETUP_REQUIRED' })
    await confirmTotp(room, actor, { totp: anApp(secret)() })
    expect(await room.authenticate(`Bearer ${token}`)).toMatchObject({ name: 'anna' })
    await room.clock.advance(30_000)
    const disable = disableTotp(room, actor, { password: aPassword, totp: anApp(secret)(), address })
    await expect(disable).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('a reviewer needs no code even there', async () => {
    room = await anAdminWorld(await fresh(), { totpRequired: true })
    await anAccount(room, 'rita', 'reviewer')
    expect((await login(room, { name: 'rita', password: aPassword, address })).setup).toEqual([])
  })

  test('disabling requires password and code, and deletes the secret', async () => {
    const db = await fresh()
    const { app, actor } = await enrolled(db)
    await room.clock.advance(30_000)
    await expect(disableTotp(room, actor, { password: aPassword, totp: '000000', address })).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    await disableTotp(room, actor, { password: aPassword, totp: app(), address })
    expect(await attempt()).toBe('in')
    expect(await db.selectFrom('admin_recovery_codes').selectAll().execute()).toEqual([])
  })

  test('a second enrolment is refused, and the stored secret is sealed', async () => {
    const db = await fresh()
    const { actor, secret, uri } = await enrolled(db)
    await expect(enrolTotp(room, actor, { password: aPassword, address })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(uri).toMatch(/^otpauth:\/\/totp\/Tenantry:anna\?/)
    expect(JSON.stringify(await db.selectFrom('admin_accounts').selectAll().execute())).not.toContain(secret)
  })
})
