import { resolve } from 'node:path'
import { execa } from 'execa'
import { Agent, request } from 'undici'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { embeddedPostgres } from '../support/embedded-postgres.ts'
import { clients, startPlatformEdge } from '../support/platform-edge.ts'
import { aKey } from '../support/running-daemon.ts'
import { type Fleet, startFleet } from './support/fleet.ts'
import { eventually } from './support/programs.ts'
import { type Simulated, simulatedTenants } from './support/simulated-tenants.ts'

// The upgrade from the release before this one: daemons one after the other under load, and both programs beside the other's former one.

let former: string
beforeAll(async () => {
  former = (await execa(resolve(import.meta.dirname, '../testbed/former-release.sh'), { stderr: 'inherit' })).stdout
})

type Answered = Readonly<{ status: number; body: string }>

/** Requests to the edge as of one client address each, so that no limit of an address applies. */
function visitors(port: number) {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false, servername: 'localhost' } })
  let number = 0
  return {
    close: () => dispatcher.close(),
    visitor: () => {
      const address = `10.1.0.${++number}`
      return async (method: 'GET' | 'POST' | 'PATCH', path: string, token = '', body?: object): Promise<Answered> => {
        const answer = await request(`https://127.0.0.1:${port}${path}`, {
          dispatcher,
          method,
          headers: {
            host: 'localhost',
            'x-test-client': address,
            ...(token && { authorization: `Bearer ${token}` }),
            ...(body && { 'content-type': 'application/json' }),
          },
          body: body ? JSON.stringify(body) : null,
        })
        return { status: answer.statusCode, body: await answer.body.text() }
      }
    },
  }
}
type Visitor = ReturnType<ReturnType<typeof visitors>['visitor']>

/** Calls of a user, one after the other until `stop`: reads and changes. What was not answered as it should be is in `failures`. */
function startLoad(users: readonly Readonly<{ visitor: Visitor; token: string }>[]) {
  const failures: string[] = []
  const created: string[] = []
  let answered = 0
  let isStopped = false
  async function expectAnswer(what: string, wanted: number, ask: () => Promise<Answered>): Promise<string> {
    const { status, body } = await ask().catch((error: unknown) => ({ status: 0, body: String(error) }))
    if (status !== wanted) failures.push(`${new Date().toISOString()} ${what}: ${status} ${body}`)
    answered += 1
    return body
  }
  const use = async ({ visitor, token }: (typeof users)[number], user: number) => {
    for (let n = 0; !isStopped; n++) {
      const name = `space ${user}-${n}`
      const space = { name, type: 'CLASSROOM', visibility: 'PRIVATE' }
      await expectAnswer('a space', 201, () => visitor('POST', '/api/platform/v1/spaces', token, space))
      created.push(name)
      await expectAnswer('the document', 200, () => visitor('GET', '/api/platform/v1/bootstrap', token))
      await expectAnswer('the profile', 200, () => visitor('PATCH', '/api/platform/v1/profile', token, { displayName: name }))
    }
  }
  const running = users.map(use)
  /** Until so many more calls were answered. */
  const more = (count: number) => {
    const until = answered + count
    return eventually(`${count} more calls are answered`, async () => answered >= until, { everyMs: 50 })
  }
  const stop = async () => {
    isStopped = true
    await Promise.all(running)
  }
  return { more, stop, failures, created }
}

let all: Simulated | undefined
let fleet: Fleet | undefined
const ends: (() => unknown)[] = []
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return
  for (const { output } of fleet ? [fleet.daemon, fleet.agent] : (all?.daemons ?? [])) console.error(output().slice(-5000))
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

const people = { anna: 'teacher', ben: 'teacher', cara: 'teacher', dan: 'teacher' }

test('two daemons under load are upgraded one after the other, and no call fails', async () => {
  const tenants = await simulatedTenants({ count: 2, release: former, more: { TENANTRY_TRUSTED_PROXIES: '127.0.0.1' } })
  all = tenants
  ends.push(tenants.end)
  await tenants.tenant('linden', people)
  const ports = tenants.daemons.map(({ url }) => Number(new URL(url).port))
  const edge = await startPlatformEdge(ports, clients, 'localhost')
  ends.push(edge.close)
  const { visitor, close } = visitors(edge.ports.secure)
  ends.push(close)
  const users = await Promise.all(
    Object.keys(people).map(async (username) => {
      const visit = visitor()
      const login = { tenant: 'linden', username, password: 'correct horse battery' }
      const { body } = await visit('POST', '/api/auth/v1/login', '', login)
      return { visitor: visit, token: (JSON.parse(body) as { token: string }).token }
    }),
  )
  const versionOf = async (url: string) => ((await (await fetch(`${url}/readyz`)).json()) as { version: string }).version
  const before = await versionOf(tenants.daemons[0]?.url ?? '')

  const load = startLoad(users)
  await load.more(100)
  for (const daemon of tenants.daemons) {
    await daemon.kill('SIGTERM')
    daemon.start()
    await eventually('the new daemon is ready', async () => (await fetch(`${daemon.url}/readyz`)).ok)
    expect(await versionOf(daemon.url)).not.toBe(before)
    await load.more(200)
  }
  await load.stop()
  expect(load.failures).toEqual([])
  const spaces = await tenants.db.selectFrom('spaces').select('name').execute()
  expect(spaces.map(({ name }) => name)).toEqual(expect.arrayContaining(load.created))
  const { jobs } = await tenants.api.jobs.listJobs({ query: { state: 'dead' } })
  expect(jobs).toEqual([])
})

test('a newer agent updates a real box for the former daemon, and the former agent reports to the newer daemon', async () => {
  const postgres = await embeddedPostgres()
  ends.push(postgres.close)
  const settings = { TENANTRY_DATABASE: postgres.url, TENANTRY_SECRET_KEY: aKey(), TENANTRY_ADMIN_REQUIRE_TOTP: 'false' }
  const started = await startFleet(settings, former)
  fleet = started
  ends.push(started.end)
  const { daemon, agent, url, must, api } = started
  const agentVersion = async () => (await api.hosts.listHosts({})).hosts[0]?.agentVersion ?? ''
  /** Replaces the agent as its unit would, and waits for its first report. */
  const startAgent = async (release: string | undefined, other: string) => {
    await agent.kill('SIGTERM')
    agent.start(release)
    return eventually('the other agent reports', async () => {
      const version = await agentVersion()
      return version !== other && version
    })
  }
  await started.applySynapse('1.157.1')
  await started.provision('linden', 'light')
  await must('snapshots', 'take', 'linden', '--wait')
  const formerVersion = await agentVersion()

  const current = await startAgent(undefined, formerVersion)
  await started.applySynapse('1.163.2')
  const updated = await must('rollouts', 'create', '--target', 'linden', '--start', '--wait', '--json')
  expect(updated.json()).toMatchObject({ status: 'done', actions: [{ status: 'succeeded' }] })

  await daemon.kill('SIGTERM')
  daemon.start()
  await eventually('the new daemon is ready', async () => (await fetch(`${url}/readyz`)).ok)
  expect(await startAgent(former, current)).toBe(formerVersion)
}, 1_200_000)
