import { rm, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBoxSecrets } from '../../src/agent/boxes/box-secrets.ts'
import { fenceSwitch } from '../../src/agent/boxes/index.ts'
import { secret } from '../../src/core/kit/index.ts'
import { openSigningKeys, watchRevocations } from '../../src/daemon/auth/index.ts'
import { changePassword } from '../../src/daemon/sessions/change-password.ts'
import { authenticateUser } from '../../src/daemon/sessions/index.ts'
import { login } from '../../src/daemon/sessions/login.ts'
import { silentLogger, systemClock, systemRandom } from '../../src/node/index.ts'
import { aKeyring } from '../support/admin-room.ts'
import { emptyDatabase } from '../support/databases.ts'
import { aHomeserverWorld } from '../support/homeserver-world.ts'
import { roleBook } from '../support/sessions-room.ts'
import { type OneBox, oneBox } from './support/one-box.ts'

// One login for platform and chat against a real Synapse behind the real edge of its box.

const slug = 'e2e-sessions'
const password = 'correct horse battery'
let box: OneBox
let world: Awaited<ReturnType<typeof aWorld>>
let fenceFile: string
const stopping = new AbortController()

async function aWorld() {
  const { project } = await box.box()
  const secrets = await readBoxSecrets(project)
  if (!secrets) throw new Error('the box has no secrets')
  fenceFile = fenceSwitch(project)
  const { db } = await emptyDatabase('sqlite')
  const there = await aHomeserverWorld(db, { origin: `http://127.0.0.1:${box.ports.platform}`, chatDomain: `${slug}.test`, secrets })
  const base = { db, clock: systemClock, random: systemRandom, keyring: aKeyring(), log: silentLogger() }
  const [keys, revocations] = [await openSigningKeys(base, 'platform'), await watchRevocations(base, stopping.signal)]
  const rules = { absoluteDays: 90, idleDays: 30, graceSeconds: 0, mostPerUser: 100 }
  const needs = { ...base, keys, revocations, rules, roles: roleBook, homeservers: there.homeservers }
  return { ...there, needs, authenticate: authenticateUser(needs) }
}

beforeAll(async () => {
  box = await oneBox({ slug, synapse: 'synapse-1.163.2' })
  world = await aWorld()
  for (const localpart of ['mia', 'leo'])
    expect(await world.homeserver.createUser({ localpart, password: secret(password) })).toEqual({ kind: 'created' })
}, 240_000)

afterAll(async () => {
  stopping.abort()
  await world?.close()
  await world?.db.destroy()
  await box?.end()
})

const logIn = (given: Partial<Parameters<typeof login>[1]> = {}) =>
  login(world.needs, { tenant: 'acme', username: 'mia', password, issueRefreshToken: true, address: '192.0.2.1', ...given })

test('a login opens platform and chat, and the device has its name', async () => {
  const answer = await logIn({ tenant: `${slug.toUpperCase()}.test`, username: 'Mia', deviceName: 'Mia’s phone' })
  expect(answer).toMatchObject({ matrixUserId: `@mia:${slug}.test`, expiresIn: 86_400 })
  expect(await world.homeserver.whoami(secret(answer.matrixAccessToken))).toMatchObject({ kind: 'ok', userId: `@mia:${slug}.test` })
  expect(await world.authenticate(`Bearer ${answer.token}`)).toMatchObject({ tenantSlug: 'acme', roles: ['member'] })
  const devices = await fetch(`http://127.0.0.1:${box.ports.public}/_matrix/client/v3/devices`, {
    headers: { authorization: `Bearer ${answer.matrixAccessToken}` },
  })
  expect(await devices.json()).toMatchObject({ devices: [{ display_name: 'Mia’s phone' }] })
  await expect(world.authenticate(`Bearer ${answer.matrixAccessToken}`)).rejects.toMatchObject({ code: 'INVALID_MATRIX_TOKEN' })
})

test('wrong password, unknown user, a user locked in the chat and the platform’s own accounts are one and the same 401, at one second', async () => {
  await world.homeserver.setLocked({ localpart: 'leo', locked: true })
  for (const wrong of [{ password: 'wrong' }, { username: 'nobody' }, { username: 'leo' }, { username: 'tenantry-probe' }]) {
    const began = performance.now()
    await expect(logIn(wrong)).rejects.toMatchObject({
      code: 'LOGIN_FAILED',
      message: 'tenant, name or password is wrong, or the account cannot be used',
    })
    expect(performance.now() - began).toBeGreaterThan(995)
  }
})

test('a changed password holds in the chat, in any form of its letters, and everything open stays open', async () => {
  const before = await logIn()
  const actor = await world.authenticate(`Bearer ${before.token}`)
  const [newPassword, same] = ['é'.repeat(36).normalize('NFC'), 'é'.repeat(36).normalize('NFD')]
  await changePassword(world.needs, actor, { currentPassword: password, newPassword, address: '192.0.2.1' })
  expect(await world.homeserver.whoami(secret(before.matrixAccessToken))).toMatchObject({ kind: 'ok' })
  expect(await world.authenticate(`Bearer ${before.token}`)).toEqual(actor)
  await expect(logIn()).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
  expect(await logIn({ password: same })).toMatchObject({ matrixUserId: `@mia:${slug}.test` })
  await changePassword(world.needs, actor, { currentPassword: same, newPassword: password, address: '192.0.2.1' })
})

test('behind the fence a login is 503, to be tried again, and counts for nothing', async () => {
  await writeFile(fenceFile, '{}\n', { mode: 0o644 })
  for (let n = 0; n < 11; n++) await expect(logIn()).rejects.toMatchObject({ code: 'HOMESERVER_UNREACHABLE', status: 503, retryable: true })
  await rm(fenceFile)
  expect(await logIn()).toMatchObject({ matrixUserId: `@mia:${slug}.test` })
})
