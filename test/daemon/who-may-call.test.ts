import { beforeAll, expect, test } from 'vitest'
import { api } from '../../src/core/api.ts'
import { adminRoles, type EndpointShape, roleAtLeast } from '../../src/core/contract/index.ts'
import { stoppableClock } from '../support/hurried-clock.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { anAgent, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'

// Every endpoint against each caller whose kind of token opens it, made from the contract: what is added is held to it without another line
// here. Tokens of another kind: isolation/tokens.test.ts.

const endpoints: EndpointShape[] = Object.values(api).flatMap((contract) => Object.values(contract))
const name = ({ method, path }: EndpointShape) => `${method} ${path}`

const callers = ['nobody', ...adminRoles, 'api token', 'agent', 'user', 'user of no role', 'forger', 'forger of users'] as const
/** Of all capabilities; that each endpoint asks for its own is tested where capabilities are. */
const isUser = (caller: Caller) => caller === 'user' || caller === 'user of no role'
type Caller = (typeof callers)[number]

const concerns = ({ auth }: EndpointShape, caller: Caller): boolean => {
  if (caller === 'nobody') return true
  if (isUser(caller) || caller === 'forger of users') return auth.kind === 'platform'
  if (caller === 'agent') return auth.kind === 'agent'
  return auth.kind === 'admin' || (auth.kind === 'platform' && auth.orAdmin !== undefined)
}

/** 0 = let in, whatever comes of it. */
function expected({ auth }: EndpointShape, caller: Caller): number {
  if (auth.kind === 'none') return 0
  if (caller === 'nobody' || caller.startsWith('forger')) return 401
  if (auth.kind === 'agent' || auth.kind === 'automation' || auth.kind === 'vendor') return 0
  if (auth.kind === 'platform' && auth.orAdmin && !isUser(caller))
    return caller !== 'api token' && roleAtLeast(caller as (typeof adminRoles)[number], auth.orAdmin) ? 0 : 403
  // Neither user is a developer of modules.
  if (auth.kind === 'platform') return auth.developer || (auth.capability && caller === 'user of no role') ? 403 : 0
  if (caller === 'api token') return auth.person || !roleAtLeast('operator', auth.role) ? 403 : 0
  return roleAtLeast(caller as (typeof adminRoles)[number], auth.role) ? 0 : 403
}

let daemon: RunningDaemon
const tokens = new Map<Caller, string>()

beforeAll(async () => {
  const clock = stoppableClock()
  daemon = await aRunningDaemon({ env: { TENANTRY_OPERATOR_TENANT: 'one' }, clock })
  for (const role of adminRoles) tokens.set(role, await loggedIn(daemon, role))
  const admin = clientOf(daemon.url, tokens.get('admin'))
  const { token } = await admin.admin.createToken({ body: { name: 'ci', role: 'operator' } })
  tokens.set('api token', `Bearer ${token}`)
  tokens.set('agent', (await anAgent(daemon, tokens.get('operator') ?? '', 'host-1')).authorization)
  tokens.set('user', await aPlatformUser(daemon, { tenant: 'one', roles: ['tenant-admin', 'store-reviewer'] }))
  tokens.set('user of no role', await aPlatformUser(daemon, { tenant: 'one', localpart: 'ben', roles: ['member'] }))
  tokens.set('forger of users', `Bearer ${(tokens.get('user') ?? '').slice(7, -4)}AAAA`)
  clock.stop()
  tokens.set('forger', `Bearer ${(tokens.get('admin') ?? '').slice(7, -4)}AAAA`)
  return daemon.close
})

/** Only whether the caller is let in counts here: no call carries what the endpoint would need to do anything. */
async function answerOf({ method, path }: EndpointShape, caller: Caller): Promise<{ status: number; code: string | undefined }> {
  const authorization = tokens.get(caller)
  const response = await fetch(`${daemon.url}${path.replace(/:\w+/g, 'x!x')}`, {
    method,
    headers: { ...(authorization ? { authorization } : {}), ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
    ...(method === 'GET' ? {} : { body: '{"no such field": 1}' }),
    signal: AbortSignal.timeout(60_000),
  })
  if (response.ok || !response.headers.get('content-type')?.includes('json')) await response.body?.cancel()
  const code = response.ok || response.bodyUsed ? undefined : ((await response.json()) as { code?: string }).code
  return { status: response.status, code }
}

/** Calls that would change what the others need: they are let in by nobody here. */
const ends = /\/(logout)$/

/** Undefined where the caller is answered as the contract says. */
async function wrongOf(endpoint: EndpointShape, caller: Caller): Promise<string | undefined> {
  const wanted = expected(endpoint, caller)
  if (wanted === 0 && ends.test(endpoint.path)) return undefined
  const { status, code } = await answerOf(endpoint, caller).catch((error: unknown) => ({ status: 599, code: String(error) }))
  // Whoever is let in may still lack what the endpoint itself asks for.
  if (wanted === 0 && (endpoint.problems as readonly string[] | undefined)?.includes(code ?? '')) return undefined
  const isLetIn = status < 500 && (endpoint.auth.kind === 'none' || ![401, 403].includes(status))
  if (wanted === 0 ? isLetIn : status === wanted) return undefined
  return `${name(endpoint)} answered ${status} ${code ?? ''} instead of ${wanted === 0 ? 'letting the caller in' : wanted}`
}

test.each(callers)('%s is let in where the contract says so, and nowhere else', async (caller) => {
  const wrong: string[] = []
  for (const endpoint of endpoints.filter((one) => concerns(one, caller)))
    wrong.push(...[await wrongOf(endpoint, caller)].flatMap((one) => one ?? []))
  expect(wrong).toEqual([])
})

test('who is not let in does not learn whether the body would fit: it is not read', async () => {
  const response = await fetch(`${daemon.url}/api/agent/v1/hello`, { method: 'POST', body: 'x'.repeat(300_000) })
  expect(response.status).toBe(401)
  await response.body?.cancel()
})
