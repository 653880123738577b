import { expect, test } from 'vitest'
import type { Homeserver } from '../../../src/core/homeserver/index.ts'
import { secret } from '../../../src/core/kit/index.ts'

export type Subject = Readonly<{
  homeserver: Homeserver
  chatDomain: string
  /** Closes and opens the edge for all. */
  fence(on: boolean): Promise<void>
  /** As if the box was restored to a time before the platform's administrator had logged in. */
  loseAdminToken(): Promise<void>
}>

const right = secret('a good password')
const wrong = secret('a bad password!')

/** What a chat server answers the platform: run against the stand-in and against a real box. */
export function homeserverSuite(subject: () => Subject): void {
  let names = 0
  const aUser = async (password = right) => {
    const localpart = `user${++names}`
    expect(await subject().homeserver.createUser({ localpart, password, displayName: 'Anna Ö' })).toEqual({ kind: 'created' })
    return localpart
  }
  const login = (localpart: string, password = right) => subject().homeserver.login({ localpart, password, deviceName: 'Phone' })
  const session = async (localpart: string) => {
    const result = await login(localpart)
    if (result.kind !== 'ok') throw new Error(`${localpart} was not let in: ${result.kind}`)
    return result
  }

  test('a user that was made can log in, and is who was asked for', async () => {
    const localpart = await aUser()
    const { userId, accessToken, deviceId } = await session(localpart)
    expect(userId).toBe(`@${localpart}:${subject().chatDomain}`)
    expect(await subject().homeserver.whoami(accessToken)).toEqual({ kind: 'ok', userId, deviceId })
  })

  test('making one who exists leaves password and sessions alone', async () => {
    const localpart = await aUser()
    const { accessToken } = await session(localpart)
    expect(await subject().homeserver.createUser({ localpart, password: wrong })).toEqual({ kind: 'exists' })
    expect(await login(localpart, wrong)).toEqual({ kind: 'refused' })
    expect(await subject().homeserver.whoami(accessToken)).toMatchObject({ kind: 'ok' })
  })

  test('of two who make the same one at once, one makes it', async () => {
    const localpart = `twin${++names}`
    const both = await Promise.all([1, 2].map(() => subject().homeserver.createUser({ localpart, password: right })))
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(['created', 'exists'])
  })

  test('names that the server keeps for itself are refused with its reason', async () => {
    const { homeserver } = subject()
    for (const localpart of ['12345', 'tenantry-probe-2']) {
      expect(await homeserver.createUser({ localpart, password: right })).toEqual({ kind: 'refused', reason: expect.any(String) })
    }
  })

  test('a wrong password and an unknown user are refused alike', async () => {
    const localpart = await aUser()
    expect(await login(localpart, wrong)).toEqual({ kind: 'refused' })
    expect(await login('nobody-at-all')).toEqual({ kind: 'refused' })
  })

  test('a new password ends no session', async () => {
    const localpart = await aUser()
    const { accessToken } = await session(localpart)
    const password = secret('another good one')
    expect(await subject().homeserver.changePassword({ localpart, password })).toEqual({ kind: 'ok' })
    expect(await login(localpart, right)).toEqual({ kind: 'refused' })
    expect(await login(localpart, password)).toMatchObject({ kind: 'ok' })
    expect(await subject().homeserver.whoami(accessToken)).toMatchObject({ kind: 'ok' })
  })

  test('a new password ends the sessions of devices where that is asked for', async () => {
    const localpart = await aUser()
    const { accessToken } = await session(localpart)
    const password = secret('another good one')
    expect(await subject().homeserver.changePassword({ localpart, password, logOutDevices: true })).toEqual({ kind: 'ok' })
    expect(await subject().homeserver.whoami(accessToken)).toEqual({ kind: 'unknown_token' })
  })

  test('who is locked is told so only with the right password, and again let in when unlocked', async () => {
    const localpart = await aUser()
    const { accessToken } = await session(localpart)
    const { homeserver } = subject()
    expect(await homeserver.setLocked({ localpart, locked: true })).toEqual({ kind: 'ok' })
    expect(await homeserver.setLocked({ localpart, locked: true })).toEqual({ kind: 'ok' })
    expect(await login(localpart)).toEqual({ kind: 'locked' })
    expect(await login(localpart, wrong)).toEqual({ kind: 'refused' })
    expect(await homeserver.whoami(accessToken)).toEqual({ kind: 'locked' })
    expect(await homeserver.setLocked({ localpart, locked: false })).toEqual({ kind: 'ok' })
    expect(await login(localpart)).toMatchObject({ kind: 'ok' })
    expect(await homeserver.whoami(accessToken)).toMatchObject({ kind: 'ok' })
  })

  test('locking or naming nobody makes nobody', async () => {
    const { homeserver } = subject()
    const localpart = 'never-made'
    expect(await homeserver.setLocked({ localpart, locked: true })).toEqual({ kind: 'absent' })
    expect(await homeserver.setDisplayName({ localpart, displayName: 'N' })).toEqual({ kind: 'absent' })
    expect(await homeserver.createUser({ localpart, password: right })).toEqual({ kind: 'created' })
  })

  test('a display name can be changed', async () => {
    const localpart = await aUser()
    expect(await subject().homeserver.setDisplayName({ localpart, displayName: 'Ben' })).toEqual({ kind: 'ok' })
    const path = `/_synapse/admin/v2/users/${encodeURIComponent(`@${localpart}:${subject().chatDomain}`)}`
    const seen = await subject().homeserver.send({ method: 'GET', path, admin: true })
    expect(seen).toMatchObject({ kind: 'ok', json: { displayname: 'Ben' } })
  })

  test('a session ends with its log-out, which may be repeated', async () => {
    const { accessToken } = await session(await aUser())
    const { homeserver } = subject()
    expect(await homeserver.logout(accessToken)).toEqual({ kind: 'ok' })
    expect(await homeserver.logout(accessToken)).toEqual({ kind: 'ok' })
    expect(await homeserver.whoami(accessToken)).toEqual({ kind: 'unknown_token' })
  })

  test('the application service speaks for itself and for its own users', async () => {
    const { homeserver, chatDomain } = subject()
    const path = '/_matrix/client/v3/account/whoami'
    expect(await homeserver.send({ method: 'GET', path })).toMatchObject({ kind: 'ok', json: { user_id: `@tenantry:${chatDomain}` } })
  })

  test('an administrator whose token is gone is found again', async () => {
    const localpart = await aUser()
    await subject().homeserver.setLocked({ localpart, locked: false })
    await subject().loseAdminToken()
    expect(await subject().homeserver.setLocked({ localpart, locked: true })).toEqual({ kind: 'ok' })
    expect(await login(localpart)).toEqual({ kind: 'locked' })
  })

  test('behind a fence nothing is done, and the answer says when to come again', async () => {
    const localpart = await aUser()
    const { accessToken } = await session(localpart)
    const { homeserver, fence } = subject()
    await fence(true)
    const fenced = { kind: 'fenced', retryAfterSeconds: 10, reason: expect.any(String) }
    expect(await login(localpart)).toEqual(fenced)
    expect(await homeserver.createUser({ localpart: `late${names}`, password: right })).toEqual(fenced)
    expect(await homeserver.setLocked({ localpart, locked: true })).toEqual(fenced)
    expect(await homeserver.changePassword({ localpart, password: wrong })).toEqual(fenced)
    expect(await homeserver.logout(accessToken)).toEqual(fenced)
    await fence(false)
    expect(await login(localpart)).toMatchObject({ kind: 'ok' })
    expect(await homeserver.whoami(accessToken)).toMatchObject({ kind: 'ok' })
  })
}
