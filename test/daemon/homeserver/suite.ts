import { expect, test } from 'vitest'
import type { Homeserver } from '../../../src/core/homeserver/index.ts'
import { secret } from '../../../src/core/kit/index.ts'
import { sendAsBot } from '../../../src/daemon/homeserver/index.ts'

export type Subject = Readonly<{
  homeserver: Homeserver
  chatDomain: string
  /** Fences and unfences the edge for all. */
  fence(on: boolean): Promise<void>
  /** Simulates a restore to a time before the platform’s administrator had logged in. */
  loseAdminToken(): Promise<void>
  /** Restarts the chat server. */
  restart(): Promise<void>
}>

const right = secret('a good password')
const wrong = secret('a bad password!')

/** How a chat server responds to the platform; runs against the simulation and a real box. */
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

  test('a created user can log in and has the requested id', async () => {
    const localpart = await aUser()
    const { userId, accessToken, deviceId } = await session(localpart)
    expect(userId).toBe(`@${localpart}:${subject().chatDomain}`)
    expect(await subject().homeserver.whoami(accessToken)).toEqual({ kind: 'ok', userId, deviceId })
  })

  test('creating an existing user keeps its password and sessions', async () => {
    const localpart = await aUser()
    const { accessToken } = await session(localpart)
    expect(await subject().homeserver.createUser({ localpart, password: wrong })).toEqual({ kind: 'exists' })
    expect(await login(localpart, wrong)).toEqual({ kind: 'refused' })
    expect(await subject().homeserver.whoami(accessToken)).toMatchObject({ kind: 'ok' })
  })

  test('of two concurrent creations of one user, one creates it', async () => {
    const localpart = `twin${++names}`
    const both = await Promise.all([1, 2].map(() => subject().homeserver.createUser({ localpart, password: right })))
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(['created', 'exists'])
  })

  test('names reserved by the server are refused with its reason', async () => {
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

  test('a new password ends device sessions if requested', async () => {
    const localpart = await aUser()
    const { accessToken } = await session(localpart)
    const password = secret('another good one')
    expect(await subject().homeserver.changePassword({ localpart, password, logOutDevices: true })).toEqual({ kind: 'ok' })
    expect(await subject().homeserver.whoami(accessToken)).toEqual({ kind: 'unknown_token' })
  })

  test('a locked user learns of the lock only with the right password, and can log in once unlocked', async () => {
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

  test('locking or renaming an unknown user creates no user', async () => {
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
    const seen = await subject().homeserver.send({ method: 'GET', path, by: 'admin' })
    expect(seen).toMatchObject({ kind: 'ok', json: { displayname: 'Ben' } })
  })

  test('a session ends with its logout, which may be repeated', async () => {
    const { accessToken } = await session(await aUser())
    const { homeserver } = subject()
    expect(await homeserver.logout(accessToken)).toEqual({ kind: 'ok' })
    expect(await homeserver.logout(accessToken)).toEqual({ kind: 'ok' })
    expect(await homeserver.whoami(accessToken)).toEqual({ kind: 'unknown_token' })
  })

  test('the application service acts for itself and its own users', async () => {
    const { homeserver, chatDomain } = subject()
    const path = '/_matrix/client/v3/account/whoami'
    expect(await homeserver.send({ method: 'GET', path })).toMatchObject({ kind: 'ok', json: { user_id: `@tenantry:${chatDomain}` } })
  })

  test('an administrator whose token is invalid gets a new one', async () => {
    const localpart = await aUser()
    await subject().homeserver.setLocked({ localpart, locked: false })
    await subject().loseAdminToken()
    expect(await subject().homeserver.setLocked({ localpart, locked: true })).toEqual({ kind: 'ok' })
    expect(await login(localpart)).toEqual({ kind: 'locked' })
  })

  test('an erased account cannot log in, its sessions end, and it stays erased', async () => {
    const localpart = await aUser()
    const { accessToken } = await session(localpart)
    const { homeserver } = subject()
    for (const _ of ['first', 'again']) expect(await homeserver.erase({ localpart })).toEqual({ kind: 'ok' })
    expect(await login(localpart)).toEqual({ kind: 'refused' })
    expect(await homeserver.whoami(accessToken)).toEqual({ kind: 'unknown_token' })
    expect(await homeserver.createUser({ localpart, password: right })).toEqual({ kind: 'exists' })
    expect(await homeserver.erase({ localpart: 'nobody-at-all' })).toEqual({ kind: 'absent' })
  })

  test('behind a fence writes are refused with Retry-After', async () => {
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

  test('a message of the bot is written once, also over a restart of the server and a lost token', async () => {
    const { homeserver, chatDomain, restart } = subject()
    const limits = `/_synapse/admin/v1/users/${encodeURIComponent(`@tenantry.admin:${chatDomain}`)}/override_ratelimit`
    await homeserver.send({ method: 'POST', path: limits, body: { messages_per_second: 0, burst_count: 0 }, by: 'admin' })
    const made = await homeserver.send({
      method: 'POST',
      path: '/_matrix/client/v3/createRoom',
      body: { preset: 'private_chat' },
      by: 'admin',
    })
    if (made.kind !== 'ok') throw new Error(`no room: ${made.kind}`)
    const roomId = String(made.json.room_id)
    const say = (transactionId: string) => sendAsBot({ homeserver, chatDomain }, { roomId, body: transactionId, transactionId })
    const first = await say('run_1.t1')
    await restart()
    expect(await say('run_1.t1')).toBe(first)
    await homeserver.send({ method: 'POST', path: '/_matrix/client/v3/logout', body: {}, by: 'bot' })
    expect(await say('run_1.t2')).not.toBe(first)
    // An application service may send as fast as it likes; so must the bot.
    const sent = await Promise.all(Array.from({ length: 25 }, (_, n) => say(`run_2.t${n}`)))
    expect(new Set(sent).size).toBe(25)
  })
}
