import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../src/core/api.ts'
import { type EndpointShape, methods } from '../../src/core/contract/index.ts'
import { stoppableClock } from '../support/hurried-clock.ts'
import { aRunningDaemon, clientOf, type RunningDaemon } from '../support/running-daemon.ts'
import { callers } from './seeds.ts'

// A whole daemon against its own /openapi.json. Schemathesis makes the requests, right and wrong, and judges the answers; what is told to it,
// and what is set aside, stands in schemathesis.toml. `npm run test:conformity` brings it along.

const tools = process.env.TENANTRY_CONFORMITY_TOOLS ?? ''

let daemon: RunningDaemon
let asking: Awaited<ReturnType<typeof callers>>

beforeAll(async () => {
  const clock = stoppableClock()
  daemon = await aRunningDaemon({ env: { TENANTRY_AGENTS_LONG_POLL_MS: '1' }, clock })
  asking = await callers(daemon)
  clock.stop()
})
afterAll(() => daemon.close())

test('every operation answers as the document says', async () => {
  const answersFile = join(await mkdtemp(join(tmpdir(), 'conformity-')), 'answers.json')
  const env = {
    TENANTRY_CONFORMITY_ANSWERS: answersFile,
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
  const answers = JSON.parse(await readFile(answersFile, 'utf8')) as Record<string, number[]>
  expect(Object.keys(answers).length).toBeGreaterThanOrEqual(operations.length - 1)
  const unreached = unreachedOf(answers).filter((operation) => !(operation in unreachable))
  const message = `operations that answered 404 alone: name what they need in a seed:\n${unreached.map((one) => `${one} ${answers[one]}`).join('\n')}`
  expect(unreached, message).toEqual([])
  expect(Object.keys(answers)).toEqual(expect.arrayContaining(Object.keys(unreachable)))
  console.log(stdout.slice(stdout.indexOf('= SUMMARY =')))
})

/** Operations that cannot be reached here, with the reason. */
const unreachable = {
  'PUT /api/public/marketplace/submissions/{id}': 'its token is only in a mail; 403 shows that the submission was found',
  'GET /api/public/logos/{logoId}': 'a school uploads it as a file, and its id is random',
  'GET /api/public/marketplace/screenshots/{id}': 'a vendor uploads them in its session, whose link is only in a mail',
  'GET /api/admin/marketplace/screenshots/{id}': 'as the public ones',
  'DELETE /api/admin/v1/passkeys/{id}': 'a browser makes it, at an address with a name',
}

/** Other calls of this run uninstall, pause or withdraw modules, in any order; calls of modules have end-to-end tests with a real service. */
const isOfModule = (operation: string): boolean => operation.includes('/module-api/')

/** Refusals of a valid call that stand before the look-up of what it names say nothing of it. */
const refusals = [400, 401, 403, 429]

const unreachedOf = (answers: Readonly<Record<string, readonly number[]>>): string[] =>
  Object.entries(answers)
    .filter(([, statuses]) => statuses.includes(404) && statuses.every((status) => status === 404 || refusals.includes(status)))
    .map(([operation]) => operation)
    .filter((operation) => !isOfModule(operation))
    .toSorted()

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
