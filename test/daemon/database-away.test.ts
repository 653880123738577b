import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPostgresDatabase } from '../support/databases.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { aKey, aRunningDaemon, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'
import { type WayToServer, wayTo } from '../support/way-to-server.ts'

// The database of a running daemon goes away and comes back: nobody is let in unchecked, nobody is told of a fault of the daemon, and no restart is
// needed.

let way: WayToServer
let daemon: RunningDaemon
let user: string
let admin: string

beforeAll(async () => {
  way = await wayTo(await createPostgresDatabase())
  daemon = await aRunningDaemon({ env: { TENANTRY_DATABASE: way.url, TENANTRY_SECRET_KEY: aKey() } })
  user = await aPlatformUser(daemon, { tenant: 'acme' })
  admin = await loggedIn(daemon, 'operator')
})
afterAll(async () => {
  await daemon.close()
  way.close()
})

const auth = '/api/auth/v1'
const right = { tenant: 'acme', username: 'anna', password: 'correct horse battery', deviceName: 'Phone' }
const calls: readonly (readonly [string, string, unknown?, (() => string)?])[] = [
  ['POST', `${auth}/login`, right],
  ['POST', `${auth}/refresh`, { refresh_token: 'tnr_x' }],
  ['POST', `${auth}/logout`, { refresh_token: 'tnr_x' }],
  ['POST', `${auth}/change-password`, { currentPassword: 'x', newPassword: 'correct horse' }, () => user],
  ['GET', `${auth}/sessions`, undefined, () => user],
  ['GET', '/api/platform/v1/bootstrap', undefined, () => user],
  ['GET', '/api/platform/v1/events/stream', undefined, () => user],
  ['GET', '/api/admin/v1/tenants', undefined, () => admin],
]

async function ask([method, path, body, who]: (typeof calls)[number]) {
  const headers = { connection: 'close', 'content-type': 'application/json', ...(who ? { authorization: who() } : {}) }
  const response = await fetch(`${daemon.url}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const code = isStream ? await response.body?.cancel() : ((await response.json().catch(() => ({}))) as { code?: string }).code
  return { path, status: response.status, code, comesAgain: response.headers.get('retry-after') !== null }
}

test('while it is away every call that needs it is 503 and says when to come again; afterwards all goes on', async () => {
  const before = await Promise.all(calls.map(ask))
  way.cut()
  // What is in memory is believed for a second, and no longer.
  await expect.poll(async () => (await ask(calls[5] as never)).status).toBe(503)
  for (const one of await Promise.all(calls.map(ask)))
    expect(one).toEqual({ path: one.path, status: 503, code: 'UNAVAILABLE', comesAgain: true })
  way.mend()
  await expect.poll(async () => (await ask(calls[5] as never)).status).toBe(200)
  expect((await Promise.all(calls.map(ask))).map(({ status }) => status)).toEqual(before.map(({ status }) => status))
})
