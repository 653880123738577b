import { afterAll, beforeAll, expect, test } from 'vitest'
import { secret } from '../../../src/core/kit/index.ts'
import { openSigningKeys } from '../../../src/daemon/auth/index.ts'
import { changePassword } from '../../../src/daemon/sessions/change-password.ts'
import { type AuthenticateUser, authenticateUser, loginWaiters, type SessionsDeps } from '../../../src/daemon/sessions/index.ts'
import { login } from '../../../src/daemon/sessions/login.ts'
import { silentLogger, systemClock, systemRandom } from '../../../src/node/index.ts'
import { aKeyring } from '../../support/admin-world.ts'
import type { HomeserverWorld } from '../../support/homeserver-world.ts'
import { watchedRevocations } from '../../support/loops.ts'
import { roleBook } from '../../support/sessions-world.ts'

const password = 'correct horse battery'

type Subject = Readonly<{ world: HomeserverWorld; chatDomain: string; publicUrl: string; fence(on: boolean): Promise<void> }>

/** One login for platform and chat against a real Synapse behind the real edge of its box. */
export function sessionsSuite(subject: () => Subject): void {
  const stopping = new AbortController()
  let deps: SessionsDeps
  let authenticate: AuthenticateUser

  beforeAll(async () => {
    const { db, homeserver, homeservers } = subject().world
    const base = { db, clock: systemClock, random: systemRandom, keyring: aKeyring(), log: silentLogger() }
    const [keys, revocations] = [await openSigningKeys(base, 'platform'), await watchedRevocations(base, stopping.signal)]
    const rules = { absoluteDays: 90, idleDays: 30, graceSeconds: 0, mostPerUser: 100 }
    deps = { ...base, keys, revocations, rules, roles: roleBook, homeservers, waiting: loginWaiters(), refusals: {} }
    authenticate = authenticateUser(deps)
    for (const localpart of ['mia', 'leo'])
      expect(await homeserver.createUser({ localpart, password: secret(password) })).toEqual({ kind: 'created' })
  })
  afterAll(() => stopping.abort())

  const logIn = (given: Partial<Parameters<typeof login>[1]> = {}) =>
    login(deps, { tenant: 'acme', username: 'mia', password, issueRefreshToken: true, address: '192.0.2.1', ...given })

  test('a login opens platform and chat, and the device has its name', async () => {
    const answer = await logIn({ tenant: `${subject().chatDomain.toUpperCase()}`, username: 'Mia', deviceName: 'Mia’s phone' })
    expect(answer).toMatchObject({ matrixUserId: `@mia:${subject().chatDomain}`, expiresIn: 86_400 })
    expect(await subject().world.homeserver.whoami(secret(answer.matrixAccessToken))).toMatchObject({
      kind: 'ok',
      userId: `@mia:${subject().chatDomain}`,
    })
    expect(await authenticate(`Bearer ${answer.token}`)).toMatchObject({ tenantSlug: 'acme', roles: ['member'] })
    const devices = await fetch(`${subject().publicUrl}/_matrix/client/v3/devices`, {
      headers: { authorization: `Bearer ${answer.matrixAccessToken}` },
    })
    expect(await devices.json()).toMatchObject({ devices: [{ display_name: 'Mia’s phone' }] })
    await expect(authenticate(`Bearer ${answer.matrixAccessToken}`)).rejects.toMatchObject({ code: 'INVALID_MATRIX_TOKEN' })
  })

  test('wrong password, unknown user, a user locked in the chat and the platform’s own accounts are one and the same 401, at one second', async () => {
    await subject().world.homeserver.setLocked({ localpart: 'leo', locked: true })
    for (const wrong of [{ password: 'wrong' }, { username: 'nobody' }, { username: 'leo' }, { username: 'tenantry-probe' }]) {
      const began = performance.now()
      await expect(logIn(wrong)).rejects.toMatchObject({
        code: 'LOGIN_FAILED',
        message: 'Tenant, name or password is wrong, or the account cannot be used',
      })
      expect(performance.now() - began).toBeGreaterThan(995)
    }
  })

  test('a changed password holds in the chat, in any form of its letters, and everything open stays open', async () => {
    const before = await logIn()
    const actor = await authenticate(`Bearer ${before.token}`)
    const [newPassword, same] = ['é'.repeat(36).normalize('NFC'), 'é'.repeat(36).normalize('NFD')]
    await changePassword(deps, actor, { currentPassword: password, newPassword, address: '192.0.2.1' })
    expect(await subject().world.homeserver.whoami(secret(before.matrixAccessToken))).toMatchObject({ kind: 'ok' })
    expect(await authenticate(`Bearer ${before.token}`)).toEqual(actor)
    await expect(logIn()).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    expect(await logIn({ password: same })).toMatchObject({ matrixUserId: `@mia:${subject().chatDomain}` })
    await changePassword(deps, actor, { currentPassword: same, newPassword: password, address: '192.0.2.1' })
  })

  test('behind the fence a login is 503, to be tried again, and counts for nothing', async () => {
    await subject().fence(true)
    for (let n = 0; n < 11; n++)
      await expect(logIn()).rejects.toMatchObject({ code: 'HOMESERVER_UNREACHABLE', status: 503, retryable: true })
    await subject().fence(false)
    expect(await logIn()).toMatchObject({ matrixUserId: `@mia:${subject().chatDomain}` })
  })
}
