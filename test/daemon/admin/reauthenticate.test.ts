import { Secret, TOTP } from 'otpauth'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { api } from '../../../src/core/api.ts'
import { type EndpointShape, isSchema } from '../../../src/core/contract/index.ts'
import type { AdminActor } from '../../../src/core/kit/index.ts'
import { openConsole, openConsoleByLink } from '../../../src/daemon/admin/console-sessions.ts'
import { authenticateConsole, makeLoginLinks } from '../../../src/daemon/admin/index.ts'
import { reauthenticate } from '../../../src/daemon/admin/reauthenticate.ts'
import { logout } from '../../../src/daemon/admin/sessions.ts'
import { createToken } from '../../../src/daemon/admin/tokens.ts'
import { confirmTotp, enrolTotp } from '../../../src/daemon/admin/totp.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { type AdminWorld, anAccount, anAdminWorld, aPassword, aSession } from '../../support/admin-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const address = '192.0.2.1'
const minuteMs = 60_000
const worlds: AdminWorld[] = []
afterEach(() => {
  for (const world of worlds.splice(0)) world.stop()
})

async function aWorld(db: Db, like?: AdminWorld): Promise<AdminWorld> {
  const world = await anAdminWorld(db, like ? { clock: like.clock } : {})
  worlds.push(world)
  return world
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'let in',
    (error: { code?: string }) => error.code ?? String(error),
  )
/** The answer to a call that asks for a recent proof. */
const create = (world: AdminWorld, authorization: string, role: 'operator' | 'admin' = 'admin') =>
  codeOf(world.authenticate(authorization, { role, reauthenticated: true }))
const prove = (world: AdminWorld, actor: AdminActor, password = aPassword, totp?: string) =>
  codeOf(reauthenticate(world, actor, { password, totp, address }))

onBothDialects('a proof before credentials are created', (fresh) => {
  test('a session creates credentials for ten minutes after its login, and again after its password', async () => {
    const world = await aWorld(await fresh())
    await anAccount(world)
    const { actor, authorization } = await aSession(world)
    await world.clock.advance(10 * minuteMs)
    expect(await create(world, authorization)).toBe('let in')
    await world.clock.advance(1)
    expect(await create(world, authorization)).toBe('REAUTHENTICATION_REQUIRED')
    expect(await codeOf(world.authenticate(authorization))).toBe('let in')
    expect(await prove(world, actor, 'a guess of a thief')).toBe('WRONG_PASSWORD')
    expect(await create(world, authorization)).toBe('REAUTHENTICATION_REQUIRED')
    expect(await prove(world, actor)).toBe('let in')
    expect(await create(world, authorization)).toBe('let in')
  })

  test('a proof counts at once on every replica, for its own session alone', async () => {
    const db = await fresh()
    const one = await aWorld(db)
    const two = await aWorld(db, one)
    await anAccount(one)
    const [mine, other] = [await aSession(one), await aSession(one)]
    await one.clock.advance(11 * minuteMs)
    for (const { authorization } of [mine, other]) expect(await create(two, authorization)).toBe('REAUTHENTICATION_REQUIRED')
    await prove(one, mine.actor)
    expect(await create(two, mine.authorization)).toBe('let in')
    expect(await create(two, other.authorization)).toBe('REAUTHENTICATION_REQUIRED')
  })

  test('with TOTP a proof needs a code, which works once', async () => {
    const world = await aWorld(await fresh())
    await anAccount(world)
    const { actor, authorization } = await aSession(world)
    const { secret } = await enrolTotp(world, actor, { password: aPassword, address })
    const code = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: world.clock.now().getTime() })
    await confirmTotp(world, actor, { totp: code() })
    await world.clock.advance(11 * minuteMs)
    for (let n = 0; n < 12; n++) expect(await prove(world, actor)).toBe('TOTP_REQUIRED')
    expect(await prove(world, actor, aPassword, '000000')).toBe('LOGIN_FAILED')
    expect(await create(world, authorization)).toBe('REAUTHENTICATION_REQUIRED')
    expect(await prove(world, actor, aPassword, code())).toBe('let in')
    expect(await create(world, authorization)).toBe('let in')
    expect(await prove(world, actor, aPassword, code())).toBe('LOGIN_FAILED')
  })

  test('guesses of a stolen session lock the account like failed logins', async () => {
    const world = await aWorld(await fresh())
    await anAccount(world)
    const { actor } = await aSession(world)
    for (let n = 0; n < 10; n++) expect(await prove(world, actor, `guess ${n}`)).toBe('WRONG_PASSWORD')
    expect(await prove(world, actor)).toBe('ACCOUNT_LOCKED')
  })

  test('a session that ended meanwhile is not proven', async () => {
    const world = await aWorld(await fresh())
    await anAccount(world)
    const { actor } = await aSession(world)
    await logout(world, actor)
    expect(await prove(world, actor)).toBe('UNAUTHENTICATED')
  })

  test('API tokens and callers without the role are not asked for a password', async () => {
    const world = await aWorld(await fresh())
    await anAccount(world)
    await anAccount(world, 'ben', 'viewer')
    const [{ actor }, ben] = [await aSession(world), await aSession(world, 'ben')]
    const { token } = await createToken(world, actor, { name: 'ci', role: 'operator', days: 30 })
    await world.clock.advance(11 * minuteMs)
    // The endpoint refuses both with FORBIDDEN.
    expect(await create(world, `Bearer ${token}`)).toBe('let in')
    expect(await create(world, ben.authorization, 'operator')).toBe('let in')
  })

  test('a console session is held to the same; one of a login link has given no password', async () => {
    const world = await aWorld(await fresh())
    await anAccount(world)
    const loginLinks = makeLoginLinks(world)
    const byPassword = await openConsole(world, { name: 'anna', password: aPassword, address })
    const byLink = await openConsoleByLink({ ...world, loginLinks }, { token: loginLinks.make('anna'), address })
    const byCookie = authenticateConsole(world)
    const headers = (cookie: string) => ({
      host: '127.0.0.1:8440',
      cookie: world.console.cookie(cookie).split(';')[0] as string,
      'x-tenantry-console': '1',
      'sec-fetch-site': 'same-origin',
    })
    const attempt = (cookie: string) => codeOf(byCookie(headers(cookie), { role: 'admin', reauthenticated: true }))
    expect(await attempt(byPassword.cookie)).toBe('let in')
    expect(await attempt(byLink.cookie)).toBe('REAUTHENTICATION_REQUIRED')
    const actor = (await byCookie(headers(byLink.cookie), {})) as AdminActor
    await prove(world, actor)
    expect(await attempt(byLink.cookie)).toBe('let in')
    await world.clock.advance(11 * minuteMs)
    expect(await attempt(byPassword.cookie)).toBe('REAUTHENTICATION_REQUIRED')
  })
})

/** Names of answers that are a credential, or the password of one. */
const credentials = ['token', 'key', 'code', 'initialPassword', 'secret', 'recoveryCodes']
/** These ask for the password themselves, or for a first code; codes of the store make nobody a developer of what is not reviewed. */
const exceptions = ['enrolTotp', 'confirmTotp', 'createStoreInvite', 'whoAmI']

test('each call by which a person gets a new credential, and each change of a role, asks for a proof', () => {
  const endpoints: [string, EndpointShape][] = Object.values(api).flatMap((contract) => Object.entries(contract))
  const ofPersons = endpoints.filter(([, { auth, method }]) => auth.kind === 'admin' && auth.person && method !== 'GET')
  const givesCredential = ({ returns }: EndpointShape) => {
    if (!isSchema(returns)) return false
    const { properties = {} } = z.toJSONSchema(returns, { io: 'output', unrepresentable: 'any' }) as { properties?: object }
    return Object.keys(properties).some((name) => credentials.includes(name))
  }
  const giving = ofPersons.filter(([name, shape]) => givesCredential(shape) && !exceptions.includes(name)).map(([name]) => name)
  const proven = ofPersons.filter(([, { auth }]) => auth.kind === 'admin' && auth.reauthenticated).map(([name]) => name)
  // The approval gives its credential to another program, and a passkey stays on its device.
  expect(proven.toSorted()).toEqual([...giving, 'addPasskey', 'approveCliLogin', 'beginPasskey', 'changeAccountRole'].toSorted())
  expect(proven).toEqual(expect.arrayContaining(['createAccount', 'resetPassword', 'createToken', 'createAutomationKey', 'inviteHost']))
})
