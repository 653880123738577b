import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../src/core/api.ts'
import { type EndpointShape, methods } from '../../src/core/contract/index.ts'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { aProbe, aReport } from '../support/boxes.ts'
import { anAutomationKey, anEvent, furnish, furnishStore } from '../support/furnished-tenant.ts'
import { hurriedClock } from '../support/hurried-clock.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { anAgent, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'

// A whole daemon against its own /openapi.json. Schemathesis makes the requests, right and wrong, and judges the answers; what is told to it,
// and what is set aside, stands in schemathesis.toml. `npm run test:conformity` brings it along.

/**
 * Operations for which nothing is seeded: a rollout, an alert, a snapshot, a second host with room, runs of other tenants, a chat room, a module with a stored
 * package (five methods of its routes) and one with a service. A new operation is not among them. The threads of the tool take the seeds in no
 * fixed order, so the count varies by a few.
 */
const maxUnreached = 37

type AgentClient = Awaited<ReturnType<typeof anAgent>>['agent']

const tools = process.env.TENANTRY_CONFORMITY_TOOLS ?? ''

let daemon: RunningDaemon
let asking: Awaited<ReturnType<typeof callers>>

beforeAll(async () => {
  // The agent's token is good for a minute: time stands still as soon as there is one.
  let stopped: Date | undefined
  const clock = { ...hurriedClock, now: () => stopped ?? hurriedClock.now() }
  daemon = await aRunningDaemon({ env: { TENANTRY_AGENTS_LONG_POLL_MS: '1' }, clock })
  asking = await callers()
  stopped = hurriedClock.now()
})
afterAll(() => daemon.close())

test('every operation answers as the document says', async () => {
  const env = {
    PYTHONPATH: tools,
    TENANTRY_CONFORMITY_ADMIN: asking.admin.slice(7),
    TENANTRY_CONFORMITY_AGENT: asking.agent.slice(7),
    TENANTRY_CONFORMITY_PLATFORM: asking.user.slice(7),
    TENANTRY_CONFORMITY_AUTOMATION: asking.automation,
    TENANTRY_CONFORMITY_TENANT: asking.tenantId,
    TENANTRY_CONFORMITY_LEAVING: asking.leaving.slice(7),
    TENANTRY_CONFORMITY_CALLERS: asking.names.join(','),
    TENANTRY_CONFORMITY_SEEDS: JSON.stringify(asking.seeds),
  }
  const given = ['--config-file', 'test/conformity/schemathesis.toml', 'run', `${daemon.url}/openapi.json`]
  const { exitCode, stdout, stderr } = await execa('python3', [`${tools}/bin/schemathesis`, ...given], { env, reject: false })
  expect(exitCode, `${stdout}\n${stderr}`).toBe(0)
  const shapes = Object.values(api).flatMap((contract): EndpointShape[] => Object.values(contract))
  const operations = shapes.flatMap(({ method, anyMethod }) => (anyMethod ? methods : [method]))
  // All but /openapi.json itself, which it leaves out because it was read from there.
  expect(stdout).toMatch(new RegExp(`Tested: ${operations.length - 1}\\b`))
  const unreached = Number(/Missing test data: (\d+)/.exec(stdout)?.[1] ?? 0)
  expect(unreached, `operations that answered 404 alone: name what they need in a seed\n${stdout}`).toBeLessThanOrEqual(maxUnreached)
  console.log(stdout.slice(stdout.indexOf('= SUMMARY =')))
})

test('those who asked were let in to the end: no answer was right only because it refused them', async () => {
  const as = (authorization: string) => clientOf(daemon.url, authorization)
  expect(await as(asking.admin).admin.whoAmI()).toMatchObject({ account: { role: 'admin' } })
  expect((await as(asking.user).profile.showPermissions()).permissions).toContain('manageSpaces')
  const hello = { protocolVersion: 1, agentVersion: '0.0.0', engine: null, resources: null, reports: [], holding: [] }
  expect(await as(asking.agent).agent.hello({ body: hello })).toBeDefined()
  const head = { 'x-automation-key': asking.automation }
  const info = `${daemon.url}/api/platform/v1/auto-callback/tenant-info?tenantId=${asking.tenantId}`
  expect((await fetch(info, { headers: head })).status).toBe(200)
})

/** One for each way of authentication, the names under which they could be shut out, and what exists for them. */
async function callers() {
  const admin = await loggedIn(daemon, 'admin')
  const leaving = await loggedIn(daemon, 'viewer')
  const { agent: host, latestAuthorization, hostId } = await anAgent(daemon, admin, 'host-1')
  const user = await aPlatformUser(daemon, { tenant: 'acme', roles: ['tenant-admin', 'store-reviewer'] })
  const { account, sessionId } = await clientOf(daemon.url, admin).admin.whoAmI()
  const { sessions } = await clientOf(daemon.url, user).sessions.listOwnSessions()
  const names = [account.id, String(sessionId), hostId, 'host-1', 'acme', 'anna', ...sessions.map(({ id }) => id)]
  const [automation, tenantId] = [await anAutomationKey(daemon, 'acme'), await acmeId()]
  const seeds = []
  for (let n = 0; n < 6; n++) {
    const event = await anEvent(daemon, { key: automation, tenantId, title: `seed ${n}` })
    const ofTool = Object.fromEntries(Object.entries(event).map(([place, [id = '']]) => [place.replace(/:(\w+)/, '{$1}'), id]))
    seeds.push({ ...(await seedOfTenant(user, n)), ...(await seedOfOperator(admin, host, n)), ...ofTool })
  }
  await host.heartbeat({ body: { holding: [] } })
  return { admin, leaving, agent: latestAuthorization(), user, automation, tenantId, names, seeds }
}

/** Ids by their place in a path. */
type Seed = Readonly<Record<string, string>>

/** What a user of the tenant acme can name. */
async function seedOfTenant(user: string, n: number): Promise<Seed> {
  const localpart = `seed-${n}`
  const member = await aPlatformUser(daemon, { tenant: 'acme', localpart })
  const { userId: memberId } = await clientOf(daemon.url, member).profile.showProfile()
  const again = await aPlatformUser(daemon, { tenant: 'acme' })
  const { sessions } = await clientOf(daemon.url, again).sessions.listOwnSessions()
  const keys = await furnish(daemon, { head: user, member, memberId, word: localpart })
  const store = await furnishStore(daemon, { tenantId: await acmeId(), headId: memberId, head: user, word: localpart })
  const [moduleId = ''] = store.keys['modules/:moduleId']
  const { 'module-api/:moduleId': _unsigned, ...modules } = store.keys
  const named = Object.entries({ ...keys, ...modules }).map(([place, [id = '']]) => [place.replace(/:(\w+)/, '{$1}'), id])
  return {
    ...Object.fromEntries(named),
    'members/{userId}': memberId,
    'contacts/{userId}': memberId,
    'versions/{version}': '1',
    'modules/{id}': moduleId,
    'health/{moduleId}': moduleId,
    'developers/{id}': store.developerId,
    '/api/auth/v1/sessions/{id}': sessions.find(({ current }) => current)?.id ?? '',
  }
}

async function acmeId(): Promise<string> {
  const { db, close } = openDatabase(daemon.config.databaseUrl)
  const { id } = await db.selectFrom('tenants').select('id').where('slug', '=', 'acme').executeTakeFirstOrThrow()
  await close()
  return id
}

/** What an operator and an agent can name: a tenant with a user and a ready box, an account, a token, an alert. */
async function seedOfOperator(admin: string, host: AgentClient, n: number): Promise<Seed> {
  const operator = clientOf(daemon.url, admin)
  await anAgent(daemon, admin, `seed-${n}`)
  const slug = `seed-${n}`
  const body = { slug, name: slug, plan: 'light' as const, chatDomain: `chat.${slug}.example`, host: 'host-1' }
  await operator.boxes.provisionBox({ body })
  const { command } = await host.nextCommand({ body: { holding: [] } })
  if (!command) throw new Error('the box was not ordered')
  const result = { report: aReport(slug, { at: new Date().toISOString() }), probe: aProbe() }
  const { id: commandId, leaseToken } = command
  await host.postResult({ params: { id: commandId }, body: { leaseToken, outcome: { ok: true, result } } })
  const session = await aPlatformUser(daemon, { tenant: slug, localpart: 'mia' })
  const { sessions } = await clientOf(daemon.url, session).sessions.listOwnSessions()
  const { account } = await operator.admin.createAccount({ body: { name: slug, role: 'viewer' } })
  const token = await operator.admin.createToken({ body: { name: slug, role: 'viewer' } })
  return {
    'tenants/{slug}': slug,
    'boxes/{slug}': slug,
    'users/{localpart}': 'mia',
    'hosts/{name}': slug,
    'accounts/{id}': account.id,
    'tokens/{id}': token.id,
    'commands/{id}': commandId,
    'crons/{jobKey}': 'housekeeping',
    '/api/admin/v1/tenants/{slug}/sessions/{id}': sessions[0]?.id ?? '',
  }
}
