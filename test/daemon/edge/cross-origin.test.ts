import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { deleteTenant } from '../../../src/daemon/tenants/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { anEdge } from '../../support/edge-world.ts'
import { aTenant } from '../../support/limits-world.ts'

const rose = 'https://chat.rose.example'
const app = 'capacitor://localhost'
let db: Db
let clock: ReturnType<typeof manualClock>
beforeEach(async () => {
  clock = manualClock()
  ;({ db } = await emptyDatabase('sqlite'))
  await aTenant(db, clock, 'rose')
})
afterEach(() => db.destroy())

type Edge = Awaited<ReturnType<typeof anEdge>>
const started = (env: Record<string, string> = {}) => anEdge(db, clock, { env: { TENANTRY_CORS_NATIVE_ORIGINS: app, ...env } })
const preflight = ({ ask }: Edge, target: string, origin: string) =>
  ask(target, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, x-module-page, x-evil, x-module-<',
    },
  })
const corsOf = (headers: Readonly<Record<string, string>>) => Object.keys(headers).filter((name) => name.startsWith('access-control-'))

const served = [
  '/api/platform/v1/bootstrap',
  '/api/auth/v1/login',
  '/api/public/v1/shown',
  '/platform/v1/workflow/events/stream',
  '/API/Platform/v1/bootstrap',
  '/api/platform/v1/nothing',
]

describe.each(served)('%s', (target) => {
  test.each([rose, app])('may be read from %s, refusals included, and never with credentials', async (origin) => {
    const { headers } = await (await started()).ask(target, { headers: { origin } })
    expect(headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' })
    const exposed = (headers['access-control-expose-headers'] as string).split(', ')
    expect(exposed).toEqual(
      expect.arrayContaining(['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Slowdown', 'Retry-After', 'ETag']),
    )
    expect(corsOf(headers).sort()).toEqual(['access-control-allow-origin', 'access-control-expose-headers'])
  })

  test('a preflight of those is answered at once', async () => {
    for (const origin of [rose, app]) {
      const { status, headers, text } = await preflight(await started(), target, origin)
      expect([status, text]).toEqual([204, ''])
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers': expect.stringMatching(
          /Authorization.*If-None-Match.*Last-Event-ID.*If-Match.*Idempotency-Key, x-module-page$/,
        ),
        'access-control-max-age': '7200',
        vary: 'Origin',
      })
      expect(headers).not.toHaveProperty('access-control-allow-credentials')
    }
  })

  test.each([
    'null',
    '*',
    'https://evil.example',
    'https://chat.rose.example.evil.example',
    'https://evilchat.rose.example',
    'https://rose.example',
    'https://x.chat.rose.example',
    'https://chat.rose.example:8443',
    'https://chat.rose.example/',
    'https://CHAT.rose.example',
    'http://chat.rose.example',
    `${rose}, ${rose}`,
    'capacitor://localhost:1',
    'capacitor://localhost.evil.example',
    'Capacitor://localhost',
    'ionic://localhost',
    'https://localhost',
  ])('says nothing to %s, not even to its preflight', async (origin) => {
    const edge = await started()
    for (const answer of [await edge.ask(target, { headers: { origin } }), await preflight(edge, target, origin)]) {
      expect(corsOf(answer.headers)).toEqual([])
      expect(answer.headers.vary).toBe('Origin')
      expect(answer.status).not.toBe(204)
    }
  })
})

test.each(['/api/admin/v1/tenants', '/healthz', '/.well-known/jwks.json', '/api/platforms', '/api', '/nothing'])(
  '%s is nobody’s to read in a web page',
  async (target) => {
    const edge = await started()
    for (const origin of [rose, app])
      for (const { headers } of [await edge.ask(target, { headers: { origin } }), await preflight(edge, target, origin)])
        expect(corsOf(headers)).toEqual([])
  },
)

test('apps of the usual web views may read without a setting, and a setting replaces them', async () => {
  const read = async (env: Record<string, string>) => {
    const edge = await anEdge(db, clock, { env })
    const origins = ['capacitor://localhost', 'ionic://localhost', 'https://localhost']
    const answers = await Promise.all(origins.map((origin) => preflight(edge, served[0] as string, origin)))
    return answers.map(({ headers }) => headers['access-control-allow-origin'])
  }
  expect(await read({})).toEqual(['capacitor://localhost', 'ionic://localhost', undefined])
  expect(await read({ TENANTRY_CORS_NATIVE_ORIGINS: '' })).toEqual([undefined, undefined, undefined])
})

test('who asks without an origin is told nothing of it', async () => {
  const { headers, status } = await (await started()).ask('/api/public/v1/shown')
  expect([status, corsOf(headers), headers.vary]).toEqual([200, [], 'Origin'])
})

test('OPTIONS that is no preflight goes its ordinary way, readable', async () => {
  const { status, headers } = await (await started()).ask('/api/public/v1/shown', { method: 'OPTIONS', headers: { origin: rose } })
  expect(status).toBe(405)
  expect(headers).toMatchObject({ 'access-control-allow-origin': rose })
})

test('a page can read that its address comes too often, and preflights do not count', async () => {
  const edge = await started({ TENANTRY_LIMITS_PER_ADDRESS: '2' })
  for (let n = 0; n < 20; n++) expect(await preflight(edge, '/api/public/v1/shown', rose)).toMatchObject({ status: 204 })
  const ask = () => edge.ask('/api/public/v1/shown', { headers: { origin: rose } })
  for (let n = 0; n < 4; n++) expect(await ask()).toMatchObject({ status: 200 })
  expect(await ask()).toMatchObject({ status: 429, headers: { 'access-control-allow-origin': rose, 'retry-after': '1' } })
  expect(await preflight(edge, '/api/public/v1/shown', 'https://evil.example')).toMatchObject({ status: 429 })
})

describe('a tenant that comes or goes', () => {
  const isRead = async ({ ask }: Edge, origin: string) =>
    (await ask('/api/public/v1/shown', { headers: { origin } })).headers['access-control-allow-origin'] === origin
  const gone = (id: string) => db.transaction().execute((tx) => deleteTenant({ clock }, tx, id as never))

  test('is known on every replica within a second', async () => {
    const replicas = [await started(), await started()]
    const all = (origin: string) => Promise.all(replicas.map((one) => isRead(one, origin)))
    expect(await all('https://chat.tulip.example')).toEqual([false, false])
    const tulip = await aTenant(db, clock, 'tulip')
    await clock.advance(600)
    await expect.poll(() => all('https://chat.tulip.example'), { interval: 5 }).toEqual([true, true])
    expect(await all(rose)).toEqual([true, true])
    await gone(tulip)
    await clock.advance(600)
    await expect.poll(() => all('https://chat.tulip.example'), { interval: 5 }).toEqual([false, false])
    expect(await all(rose)).toEqual([true, true])
  })
})
