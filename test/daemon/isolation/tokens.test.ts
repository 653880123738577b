import { beforeAll, expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import type { EndpointShape } from '../../../src/core/contract/index.ts'
import { ask } from '../../support/ask.ts'
import { aFurnishedTenant, type FurnishedTenant } from '../../support/furnished-tenant.ts'
import { stoppableClock } from '../../support/hurried-clock.ts'
import { aPlatformUser } from '../../support/platform-user.ts'
import { anAgent, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../../support/running-daemon.ts'

// Every kind of token at the endpoints of every other kind, and tokens that are no longer valid: all are refused at every endpoint.

const kinds = ['admin', 'API token', 'agent', 'platform', 'chat', 'refresh'] as const
type Kind = (typeof kinds)[number]
const over = [
  'of an ended session',
  'of a disabled user',
  'of a suspended tenant',
  'of a user of another tenant that took its place',
] as const

const endpoints = Object.values(api).flatMap((contract) => Object.entries(contract as Record<string, EndpointShape>))
const guarded = endpoints.filter(([, { auth }]) => auth.kind !== 'none')
const opens: Readonly<Record<Kind, string>> = {
  admin: 'admin',
  'API token': 'admin',
  agent: 'agent',
  platform: 'platform',
  chat: '',
  refresh: '',
}

let daemon: RunningDaemon
let tenant: FurnishedTenant
const tokens = new Map<string, string>()

beforeAll(async () => {
  const clock = stoppableClock()
  daemon = await aRunningDaemon({ clock })
  tenant = await aFurnishedTenant(daemon, 'zeder', 'zwetschge')
  const admin = await loggedIn(daemon, 'admin')
  const operator = clientOf(daemon.url, admin)
  tokens.set('admin', admin)
  tokens.set('API token', `Bearer ${(await operator.admin.createToken({ body: { name: 'ci', role: 'operator' } })).token}`)
  tokens.set('agent', (await anAgent(daemon, admin, 'host-1')).authorization)
  tokens.set('platform', tenant.head)
  tokens.set('chat', 'Bearer syt_endldHNjaGdl_abcdefghijklmnopqrst_0a1b2c')
  tokens.set('refresh', `Bearer ${tenant.refreshToken}`)
  await makeThemEnd(operator)
  clock.stop()
  return daemon.close
})

async function makeThemEnd(operator: ReturnType<typeof clientOf>) {
  const roles = ['tenant-admin', 'store-reviewer']
  const [ended, disabled] = [
    await aPlatformUser(daemon, { tenant: 'zeder', localpart: 'gone', roles }),
    await aPlatformUser(daemon, { tenant: 'zeder', localpart: 'shut', roles }),
  ]
  const suspended = await aPlatformUser(daemon, { tenant: 'ulme', roles })
  const own = clientOf(daemon.url, ended).sessions
  const { sessions } = await own.listOwnSessions()
  await own.revokeOwnSession({ params: { id: sessions[0]?.id ?? '' } })
  await operator.users.disableUser({ params: { slug: 'zeder', localpart: 'shut' }, body: { reason: 'left' } })
  await operator.tenants.suspendTenant({ params: { slug: 'ulme' }, body: { reason: 'unpaid' } })
  tokens.set(over[0], ended)
  tokens.set(over[1], disabled)
  tokens.set(over[2], suspended)
  // Header and claims of one user, signature of another.
  const [head, , signature] = tenant.member.slice(7).split('.')
  tokens.set(over[3], `Bearer ${head}.${tenant.head.slice(7).split('.')[1]}.${signature}`)
}

const pathOf = ({ path }: EndpointShape) =>
  path.replace(
    /([\w-]+)\/(:\w+)/g,
    (place, word: string) => `${word}/${tenant.keys[place]?.[0] ?? (place.endsWith(':slug') ? tenant.slug : 'x')}`,
  )

async function answerTo(endpoint: EndpointShape, token: string) {
  return ask(daemon.url, endpoint, { path: pathOf(endpoint), body: {} }, tokens.get(token))
}

/** Reviews of the store also take an admin, but no API token. */
const isOpenTo = ({ auth }: EndpointShape, kind: Kind) =>
  auth.kind === opens[kind] || (kind === 'admin' && auth.kind === 'platform' && auth.orAdmin !== undefined)
const isForPersons = ({ auth }: EndpointShape, kind: Kind) => kind === 'API token' && auth.kind === 'platform' && auth.orAdmin !== undefined

/** Sends the token to the endpoints. Returns the endpoints that answered in another way than expected, or with a marker of the tenant. */
async function wrongAnswers(
  some: typeof guarded,
  token: string,
  wanted: (endpoint: EndpointShape) => { status: number; contains: string },
) {
  const wrong: string[] = []
  for (const [name, endpoint] of some) {
    const { status, text } = await answerTo(endpoint, token)
    const { status: expected, contains } = wanted(endpoint)
    if (status !== expected || !text.includes(contains) || tenant.marks.some((mark) => text.includes(mark)))
      wrong.push(`${name} answered ${status} ${text.slice(-300)} instead of ${expected} with ${contains}`)
  }
  return wrong
}

test.each(kinds)('a token that is %s is refused by every endpoint of another kind', async (kind) => {
  const others = guarded.filter(([, endpoint]) => !isOpenTo(endpoint, kind))
  const wrong = await wrongAnswers(others, kind, (endpoint) => ({
    status: isForPersons(endpoint, kind) ? 403 : 401,
    contains: kind === 'chat' && endpoint.auth.kind === 'platform' ? 'INVALID_MATRIX_TOKEN' : '"code"',
  }))
  expect(wrong).toEqual([])
})

test.each(over)('a platform token %s is refused everywhere', async (which) => {
  const open = guarded.filter(([, { auth }]) => auth.kind === 'platform')
  expect(await wrongAnswers(open, which, () => ({ status: 401, contains: '"code"' }))).toEqual([])
})

test('the tokens of this test are valid at their own endpoints', async () => {
  const opened = { admin: api.admin.whoAmI, 'API token': api.tenants.listTenants, platform: api.bootstrap.bootstrap }
  for (const [kind, endpoint] of Object.entries(opened)) expect((await answerTo(endpoint, kind)).status).toBe(200)
  expect((await answerTo(api.agent.hello, 'agent')).status).toBe(400)
  const renewed = await clientOf(daemon.url).sessions.refresh({ body: { refresh_token: tenant.refreshToken } })
  expect(renewed.refreshToken).not.toBe(tenant.refreshToken)
})

test('an operator who names a session under another tenant ends none', async () => {
  await aPlatformUser(daemon, { tenant: 'ahorn' })
  const operator = clientOf(daemon.url, tokens.get('admin'))
  const id = tenant.keys['sessions/:id']?.[0] ?? ''
  await expect(operator.sessions.revokeUserSession({ params: { slug: 'ahorn', id } })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect((await answerTo(api.bootstrap.bootstrap, 'platform')).status).toBe(200)
})
