import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { adminContract } from '../../../src/core/admin/index.ts'
import { platform, text } from '../../../src/core/contract/index.ts'
import { adminRoutes, authenticateConsole, consoleAccess, makeLoginLinks } from '../../../src/daemon/admin/index.ts'
import { serve } from '../../../src/daemon/http/index.ts'
import { type AdminWorld, anAccount, anAdminWorld, aPassword, aSession } from '../../support/admin-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { servedApp } from '../../support/served-app.ts'

type Headers = Record<string, string>
type Asked = Readonly<{ status: number; code: string | undefined; cookie: string | undefined; body: Record<string, unknown> }>

/** A call with exactly these headers, as no browser and no `fetch` would send it. */
async function ask(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Headers; body?: unknown },
): Promise<Asked> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const call = request(url, {
    method,
    headers: { connection: 'close', ...(text ? { 'content-type': 'application/json' } : {}), ...headers },
  })
  call.end(text)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  let answer = ''
  for await (const chunk of response.setEncoding('utf8')) answer += chunk
  const parsed = answer === '' ? {} : JSON.parse(answer)
  return { status: response.statusCode ?? 0, code: parsed.code, cookie: response.headers['set-cookie']?.[0], body: parsed }
}

const ownPage = { 'x-tenantry-console': '1', 'sec-fetch-site': 'same-origin' }
const path = (name: 'openConsole' | 'openConsoleByLink' | 'closeConsole' | 'whoAmI' | 'listSessions' | 'logout') => adminContract[name].path

const userEndpoint = serve(
  { method: 'GET', path: '/api/platform/v1/probe', auth: platform(), returns: text(), summary: 'for the test' },
  () => 'never',
)

/** Open to users with a capability and to admins, as reviews of the store are. */
const sharedEndpoint = serve(
  {
    method: 'GET',
    path: '/api/platform/v1/shared-probe',
    auth: { ...platform(), orAdmin: 'reviewer' as const },
    returns: z.object({ kind: z.string() }),
    summary: 'for the test',
  },
  ({ actor }) => ({ kind: actor.kind }),
)

async function aConsole(room: AdminWorld) {
  const loginLinks = makeLoginLinks(room)
  const authenticate = { admin: room.authenticate, console: authenticateConsole(room) }
  const { url } = await servedApp([...adminRoutes({ ...room, loginLinks }), userEndpoint, sharedEndpoint], {
    authenticate,
    clock: room.clock,
  })
  const login = (headers: Headers = ownPage, password = aPassword) =>
    ask(`${url}${path('openConsole')}`, { method: 'POST', headers, body: { name: 'anna', password } })
  const whoAmI = (headers: Headers) => ask(`${url}${path('whoAmI')}`, { headers })
  /** The headers of the console's own page after a login. */
  const session = async () => ({ ...ownPage, cookie: (await login()).cookie?.split(';')[0] ?? '' })
  return { url, login, whoAmI, session, loginLinks }
}

const auditedBy = async ({ db }: AdminWorld) =>
  (await db.selectFrom('audit').select('action').where('action', 'like', 'session.%').orderBy('seq').execute()).map(({ action }) => action)

onBothDialects('sessions of the web console', (fresh) => {
  async function aRoom() {
    const room = await anAdminWorld(await fresh())
    onTestFinished(room.stop)
    await anAccount(room)
    return { room, ...(await aConsole(room)) }
  }

  test('a login sets a cookie that no script reads and no other site sends', async () => {
    const { login, whoAmI } = await aRoom()
    const { status, cookie } = await login()
    expect(status).toBe(200)
    expect(cookie).toMatch(/^tenantry-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
    expect((await whoAmI({ ...ownPage, cookie: cookie?.split(';')[0] ?? '' })).body).toMatchObject({ account: { name: 'anna' } })
    expect((await login(ownPage, 'wrong password')).code).toBe('LOGIN_FAILED')
  })

  test('each login makes another session, and the cookie is stored as a hash alone', async () => {
    const { room, session } = await aRoom()
    const [one, two] = [await session(), await session()]
    expect(one.cookie).not.toBe(two.cookie)
    const rows = await room.db.selectFrom('admin_sessions').select(['id', 'cookie_hash']).execute()
    expect(new Set(rows.map(({ id }) => id)).size).toBe(2)
    expect(JSON.stringify(rows)).not.toContain(one.cookie.split('=')[1])
  })

  test.each([
    ['without the header of the console', { 'sec-fetch-site': 'same-origin' }],
    ['from another site', { 'x-tenantry-console': '1', 'sec-fetch-site': 'cross-site' }],
    ['from another subdomain', { 'x-tenantry-console': '1', 'sec-fetch-site': 'same-site' }],
    ['typed into the address bar', { 'x-tenantry-console': '1', 'sec-fetch-site': 'none' }],
    ['without the site, from another origin', { 'x-tenantry-console': '1', origin: 'http://127.0.0.1:9999' }],
    ['without site and origin', { 'x-tenantry-console': '1' }],
  ])('a cookie counts for nothing %s', async (_, headers) => {
    const { session, whoAmI, login } = await aRoom()
    const { cookie } = await session()
    expect((await whoAmI({ ...headers, cookie })).code).toBe('UNAUTHENTICATED')
    expect((await login(headers as Headers)).code).toBe('FORBIDDEN')
  })

  test('an old browser that sends no site is known by the origin', async () => {
    const { session, whoAmI } = await aRoom()
    const { cookie } = await session()
    expect((await whoAmI({ 'x-tenantry-console': '1', origin: 'http://127.0.0.1:8440', cookie })).status).toBe(200)
  })

  test('a cookie counts on no path of users', async () => {
    const { session, url } = await aRoom()
    expect((await ask(`${url}/api/platform/v1/probe`, { headers: await session() })).code).toBe('UNAUTHENTICATED')
  })

  test('a cookie counts where admins may call an endpoint of users, from the own page alone', async () => {
    const { session, url } = await aRoom()
    const { cookie } = await session()
    const call = (headers: Headers) => ask(`${url}/api/platform/v1/shared-probe`, { headers })
    expect((await call({ ...ownPage, cookie })).status).toBe(200)
    expect((await call({ cookie })).code).toBe('UNAUTHENTICATED')
    expect((await call({ ...ownPage, cookie, host: 'chat.example.org' })).code).toBe('FORBIDDEN')
    expect((await call({ host: 'chat.example.org' })).code).toBe('UNAUTHENTICATED')
  })

  test('a cookie and a token together are refused, and a cookie is no token', async () => {
    const { room, session, whoAmI } = await aRoom()
    const [headers, { authorization, token }] = [await session(), await aSession(room)]
    expect((await whoAmI({ ...headers, authorization })).code).toBe('VALIDATION')
    expect((await whoAmI({ authorization: `Bearer ${headers.cookie.split('=')[1]}` })).code).toBe('UNAUTHENTICATED')
    expect((await whoAmI({ ...ownPage, cookie: `tenantry-console=${token}` })).code).toBe('UNAUTHENTICATED')
  })

  test("a host name that is not the daemon's is refused, with any credential", async () => {
    const { room, session, whoAmI, login } = await aRoom()
    const host = 'rebound.example'
    expect((await whoAmI({ ...(await session()), host })).code).toBe('FORBIDDEN')
    expect((await whoAmI({ authorization: (await aSession(room)).authorization, host })).code).toBe('FORBIDDEN')
    expect((await login({ ...ownPage, host })).code).toBe('FORBIDDEN')
    expect((await whoAmI({ ...(await session()), host: 'localhost:1' })).status).toBe(200)
  })

  test('a session ends an hour after the last call of a person; calls of the page itself do not keep it', async () => {
    const { room, session, whoAmI } = await aRoom()
    const headers = await session()
    await room.clock.advance(50 * 60_000)
    expect((await whoAmI(headers)).status).toBe(200)
    await room.clock.advance(50 * 60_000)
    expect((await whoAmI({ ...headers, 'x-tenantry-background': '1' })).status).toBe(200)
    await room.clock.advance(11 * 60_000)
    expect((await whoAmI(headers)).code).toBe('UNAUTHENTICATED')
  })

  test('a session that is used ends after twelve hours', async () => {
    const { room, session, whoAmI } = await aRoom()
    const headers = await session()
    for (let half = 1; half < 24; half++) {
      await room.clock.advance(30 * 60_000)
      expect((await whoAmI(headers)).status).toBe(200)
    }
    await room.clock.advance(30 * 60_000)
    expect((await whoAmI(headers)).code).toBe('UNAUTHENTICATED')
  })

  test('a session is listed, and ended from another one or by its logout', async () => {
    const { room, session, whoAmI, url } = await aRoom()
    const [one, two] = [await session(), await session()]
    const { sessions } = (await ask(`${url}${path('listSessions')}`, { headers: one })).body as {
      sessions: { id: string; kind: string; current: boolean }[]
    }
    expect(sessions.map(({ kind }) => kind)).toEqual(['console', 'console'])
    const other = sessions.find(({ current }) => !current)?.id
    expect((await ask(`${url}${path('listSessions')}/${other}`, { method: 'DELETE', headers: one })).status).toBe(204)
    expect((await whoAmI(two)).code).toBe('UNAUTHENTICATED')
    const closed = await ask(`${url}${path('closeConsole')}`, { method: 'POST', headers: one })
    expect(closed).toMatchObject({ status: 204, cookie: expect.stringContaining('Max-Age=0') })
    expect((await whoAmI(one)).code).toBe('UNAUTHENTICATED')
    expect(await auditedBy(room)).toEqual(['session.opened', 'session.opened', 'session.revoked', 'session.closed'])
  })

  test('a login link of a demo works once, for ten minutes, on its own machine', async () => {
    const { room, url, loginLinks, whoAmI } = await aRoom()
    const take = (token: string, headers: Headers = ownPage) =>
      ask(`${url}${path('openConsoleByLink')}`, { method: 'POST', headers, body: { token } })
    const token = loginLinks.make('anna')
    expect((await take(token, { ...ownPage, 'x-forwarded-for': '127.0.0.1' })).code).toBe('FORBIDDEN')
    const { status, cookie } = await take(token)
    expect(status).toBe(200)
    expect((await whoAmI({ ...ownPage, cookie: cookie?.split(';')[0] ?? '' })).status).toBe(200)
    expect((await take(token)).code).toBe('LOGIN_FAILED')
    expect(await auditedBy(room)).toEqual(['session.opened'])
    const late = loginLinks.make('anna')
    await room.clock.advance(10 * 60_000)
    expect((await take(late)).code).toBe('LOGIN_FAILED')
  })
})

test('over plain http the console is served on loopback alone', () => {
  expect(() => consoleAccess('http://tenantry.example').assertServed()).toThrow('needs https')
  expect(consoleAccess('https://tenantry.example').cookie('x')).toBe('__Host-tenantry=x; Path=/; HttpOnly; SameSite=Strict; Secure')
})
