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

type Subject = Readonly<{ world: HomeserverWorld; chatDomain: string }>

/** Passwords of the platform against a real Synapse behind the real edge of its box. */
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
    expect(await homeserver.createUser({ localpart: 'mia', password: secret(password) })).toEqual({ kind: 'created' })
  })
  afterAll(() => stopping.abort())

  const logIn = (given: Partial<Parameters<typeof login>[1]> = {}) =>
    login(deps, { tenant: 'acme', username: 'mia', password, issueRefreshToken: true, address: '192.0.2.1', ...given })

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
}
