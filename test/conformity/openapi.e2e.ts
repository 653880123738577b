import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../src/core/api.ts'
import { hurriedClock } from '../support/hurried-clock.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { anAgent, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'

// A whole daemon against its own /openapi.json. Schemathesis makes the requests, right and wrong, and judges the answers; what is told to it,
// and what is set aside, stands in schemathesis.toml. `npm run test:conformity` brings it along.

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
    TENANTRY_CONFORMITY_LEAVING: asking.leaving.slice(7),
    TENANTRY_CONFORMITY_CALLERS: asking.names.join(','),
  }
  const given = ['--config-file', 'test/conformity/schemathesis.toml', 'run', `${daemon.url}/openapi.json`]
  const { exitCode, stdout, stderr } = await execa('python3', [`${tools}/bin/schemathesis`, ...given], { env, reject: false })
  expect(exitCode, `${stdout}\n${stderr}`).toBe(0)
  const operations = Object.values(api).flatMap((contract) => Object.keys(contract))
  // All but /openapi.json itself, which it leaves out because it was read from there.
  expect(stdout).toMatch(new RegExp(`Tested: ${operations.length - 1}\\b`))
  console.log(stdout.slice(stdout.indexOf('= SUMMARY =')))
})

test('those who asked were let in to the end: no answer was right only because it refused them', async () => {
  const as = (authorization: string) => clientOf(daemon.url, authorization)
  expect(await as(asking.admin).admin.whoAmI()).toMatchObject({ account: { role: 'admin' } })
  expect((await as(asking.user).profile.showPermissions()).permissions).toContain('manageSpaces')
  const hello = { protocolVersion: 1, agentVersion: '0.0.0', engine: null, resources: null, reports: [], holding: [] }
  expect(await as(asking.agent).agent.hello({ body: hello })).toBeDefined()
})

/** One for each way of authentication, and the names under which they could be shut out. */
async function callers() {
  const admin = await loggedIn(daemon, 'admin')
  const leaving = await loggedIn(daemon, 'viewer')
  const { authorization: agent, hostId } = await anAgent(daemon, admin, 'host-1')
  const user = await aPlatformUser(daemon, { tenant: 'acme', roles: ['tenant-admin', 'store-reviewer'] })
  const { account, sessionId } = await clientOf(daemon.url, admin).admin.whoAmI()
  const { sessions } = await clientOf(daemon.url, user).sessions.listOwnSessions()
  const names = [account.id, String(sessionId), hostId, 'host-1', 'acme', 'anna', ...sessions.map(({ id }) => id)]
  return { admin, leaving, agent, user, names }
}
