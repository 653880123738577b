import { expect, test } from 'vitest'
import { admin, endpoint, text } from '../../../src/core/contract/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { pageToken, serve } from '../../../src/daemon/http/index.ts'
import { peopleRoutes } from '../../../src/daemon/people/index.ts'
import { schoolAccess, schoolRoutes } from '../../../src/daemon/school/index.ts'
import { authenticateUser, sessionsRoutes } from '../../../src/daemon/sessions/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aPeopleWorld } from '../../support/people-world.ts'
import { type Asked, type Headers, rawCall } from '../../support/raw-call.ts'
import { servedApp } from '../../support/served-app.ts'

const ownPage = { 'x-tenantry-school': '1', 'sec-fetch-site': 'same-origin' }
const loginPath = '/api/auth/v1/school/login'
const sessionPath = '/api/auth/v1/school/session'
const usersPath = '/api/platform/v1/users'

const ofOperators = serve(
  endpoint({ method: 'GET', path: '/api/admin/v1/probe', auth: admin('viewer'), returns: text(), summary: 'for the test' }),
  () => 'never',
)

onBothDialects('the session of the page of a school', (fresh) => {
  async function aPage({ baseUrl = 'http://127.0.0.1' } = {}) {
    const world = await aPeopleWorld(await fresh())
    const school = schoolAccess(baseUrl)
    const authenticate = {
      platform: authenticateUser(world),
      school: pageToken(school),
      admin: async () => {
        throw problem('UNAUTHENTICATED', 'no operator')
      },
    }
    const routes = [...schoolRoutes({ ...world, school }), ...peopleRoutes(world), ...sessionsRoutes(world), ofOperators]
    const { url } = await servedApp(routes, { authenticate, clock: world.clock })
    const call = (path: string, asked: Asked = {}) => rawCall(`${url}${path}`, { headers: ownPage, ...asked })
    const logIn = (username: string, password: string, headers: Headers = ownPage) =>
      world.timed(call(loginPath, { method: 'POST', headers, body: { tenant: 'acme', username, password } }))
    /** The headers of the page after a login. */
    const session = async (username: string, password: string) => ({
      ...ownPage,
      cookie: (await logIn(username, password)).cookie?.split(';')[0] ?? '',
    })
    return { world, call, logIn, session }
  }

  test('is a cookie that no script reads and no other site sends, for an hour', async () => {
    const { world, call, logIn } = await aPage()
    const { password } = await world.aUser('ida', ['tenant-admin'])
    const { status, cookie, body } = await logIn('ida', password)
    expect([status, body]).toEqual([200, { passwordChangeRequired: false }])
    expect(cookie).toMatch(/^tenantry-school=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=3600$/)
    const headers = { ...ownPage, cookie: cookie?.split(';')[0] ?? '' }
    const shown = await call(sessionPath, { headers })
    expect(shown.body).toMatchObject({
      tenant: { slug: 'acme' },
      user: { username: 'ida', roles: ['tenant-admin'] },
      capabilities: expect.arrayContaining(['manageUsers', 'readAudit']),
      passwordChangeRequired: false,
    })
    expect((await call(usersPath, { headers })).status).toBe(200)
    // A person at the page prolongs it; a refresh by itself does not.
    expect(shown.cookie).toBe(cookie)
    expect((await call(sessionPath, { headers: { ...headers, 'x-tenantry-background': '1' } })).cookie).toBeUndefined()
  })

  test('counts for calls of the page alone, and opens nothing of operators', async () => {
    const { world, call, session } = await aPage()
    const { password } = await world.aUser('ida', ['tenant-admin'])
    const headers = await session('ida', password)
    const { cookie } = headers
    const refused: Headers[] = [
      { cookie },
      { ...headers, 'sec-fetch-site': 'same-site' },
      { ...headers, 'sec-fetch-site': 'cross-site' },
      { 'x-tenantry-console': '1', 'sec-fetch-site': 'same-origin', cookie },
      { 'x-tenantry-school': '1', origin: 'https://evil.example', cookie },
    ]
    for (const one of refused) expect(await call(usersPath, { headers: one })).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
    const both = { ...headers, authorization: 'Bearer x.y.z' }
    expect(await call(usersPath, { headers: both })).toMatchObject({ status: 400, code: 'VALIDATION' })
    expect(await call(usersPath, { headers: { ...headers, host: 'rebound.example' } })).toMatchObject({ status: 403, code: 'FORBIDDEN' })
    expect(await call('/api/admin/v1/probe', { headers })).toMatchObject({ status: 401 })
    const origin = { 'x-tenantry-school': '1', origin: 'http://127.0.0.1', cookie }
    expect((await call(usersPath, { headers: origin })).status).toBe(200)
  })

  test('begins at the page alone, over https or on this machine', async () => {
    const { world, logIn } = await aPage()
    const { password } = await world.aUser('ida')
    const elsewhere = { 'x-tenantry-school': '1', 'sec-fetch-site': 'cross-site' }
    expect(await logIn('ida', password, elsewhere)).toMatchObject({ status: 403, cookie: undefined })
    expect(await logIn('ida', 'another password')).toMatchObject({ status: 401, code: 'LOGIN_FAILED', cookie: undefined })
    const plain = await aPage({ baseUrl: 'http://tenantry.example' })
    expect(await plain.logIn('ida', 'x')).toMatchObject({ status: 503, code: 'CONFIG' })
    const secure = schoolAccess('https://tenantry.example').cookie('x', 1000)
    expect(secure).toBe('__Host-tenantry-school=x; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=1')
  })

  test('with an initial password opens only the change of it', async () => {
    const { world, call, logIn, session } = await aPage()
    const ida = await world.aUser('ida', ['tenant-admin'])
    const { password } = await ida.api.createPerson({ body: { localpart: 'ben', roles: ['tenant-admin'], invite: false } })
    expect((await logIn('ben', password ?? '')).body).toEqual({ passwordChangeRequired: true })
    const headers = await session('ben', password ?? '')
    expect((await call(sessionPath, { headers })).body).toMatchObject({ passwordChangeRequired: true })
    expect(await call(usersPath, { headers })).toMatchObject({ status: 403, code: 'SETUP_REQUIRED' })
    const body = { currentPassword: password, newPassword: 'a text that only ben knows' }
    expect((await world.timed(call('/api/auth/v1/change-password', { method: 'POST', headers, body }))).status).toBe(204)
    expect((await call(usersPath, { headers })).status).toBe(200)
  })

  test('shows which roles its user gives out, and ends with the logout', async () => {
    const { world, call, session } = await aPage()
    const { password } = await world.aUser('hanna', ['head'])
    const headers = await session('hanna', password)
    const { roles } = (await call(sessionPath, { headers })).body as { roles: { name: string; isGrantable: boolean }[] }
    expect(roles.filter(({ isGrantable }) => isGrantable).map(({ name }) => name)).toEqual(['member', 'head'])
    const ended = await call('/api/auth/v1/school/logout', { method: 'POST', headers })
    expect(ended).toMatchObject({ status: 204, cookie: expect.stringMatching(/^tenantry-school=; Max-Age=0/) })
    expect(await call(sessionPath, { headers })).toMatchObject({ status: 401 })
  })
})
