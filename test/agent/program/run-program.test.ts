import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFenceFile, localBoxes, removeFenceFile } from '../../../src/agent/boxes/index.ts'
import { fileLocks, folderStore, openJournal } from '../../../src/agent/journal/index.ts'
import { keyStore } from '../../../src/agent/program/enrolment-file.ts'
import { runProgram } from '../../../src/agent/program/main.ts'
import { loadAgentSettings } from '../../../src/agent/program/settings.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { inviteHost } from '../../../src/daemon/hosts/enrolment.ts'
import { revokeHost } from '../../../src/daemon/hosts/revoke-host.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { anna, type HostWorld, hostWorld } from '../../support/host-world.ts'

let folder: string
let world: HostWorld
let endWorld: () => Promise<void>

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-agent-'))
  const { db } = await emptyDatabase('sqlite')
  world = await hostWorld(db)
  endWorld = async () => {
    await world.stop()
    await db.destroy()
    await rm(folder, { recursive: true, force: true })
  }
})
afterEach(() => endWorld())

const state = () => join(folder, 'state')

type Given = { input?: string; terminal?: boolean; env?: Record<string, string>; signal?: AbortSignal; offMs?: number }

/** One command line on a machine whose engine and restic are not there. */
async function agent(argv: string[], { input = '', terminal = false, env = {}, signal, offMs = 0 }: Given = {}) {
  let [stdout, stderr] = ['', '']
  const exit = await runProgram(argv, {
    env: {
      TENANTRY_AGENT_STATE_DIR: state(),
      TENANTRY_AGENT_BOXES_DIR: join(folder, 'boxes'),
      TENANTRY_AGENT_DOCKER_HOST: `unix://${folder}/no.sock`,
      TENANTRY_AGENT_RESTIC: join(folder, 'no-restic'),
      TENANTRY_AGENT_LOG_LEVEL: 'error',
      ...env,
    },
    stdin: Object.assign(Readable.from([input]), { isTTY: terminal }),
    stdout: {
      write: (text) => {
        stdout += text
      },
    },
    stderr: {
      write: (text) => {
        stderr += text
      },
    },
    signal: signal ?? new AbortController().signal,
    clock: { ...world.clock, now: () => new Date(world.clock.now().getTime() + offMs) },
    random: systemRandom,
    engineRetryMs: 0,
  })
  return { exit, stdout, stderr }
}

async function invite(name = 'host-1') {
  const { token } = await inviteHost(world.deps, anna, { name })
  await world.clock.advance(1000)
  return token
}

test('an agent enrols with a token from a file, keeps its key for itself, and does not enrol twice', async () => {
  await writeFile(join(folder, 'token'), `${await invite()}\n`)
  const argv = ['enrol', '--url', `${world.baseUrl}/`, '--token-file', join(folder, 'token')]
  expect(await agent([...argv, '--json'])).toMatchObject({ exit: 0, stderr: '' })
  expect(await readdir(state())).toEqual(['identity.json'])
  expect((await stat(join(state(), 'identity.json'))).mode & 0o777).toBe(0o600)
  expect((await stat(state())).mode & 0o777).toBe(0o700)
  expect(await agent(argv)).toMatchObject({ exit: 5, stderr: expect.stringMatching(/host-1 at http.*--anew/) })
})

test('the token comes from stdin too, but a terminal is not waited for', async () => {
  const url = ['--url', world.baseUrl]
  expect(await agent(['enrol', ...url], { terminal: true })).toMatchObject({ exit: 2, stderr: expect.stringMatching(/--token-file/) })
  expect(await agent(['enrol', ...url], { input: 'not a token' })).toMatchObject({ exit: 2, stderr: expect.stringMatching(/hosts invite/) })
  expect(await agent(['enrol', ...url], { input: `${await invite()}\n` })).toMatchObject({ exit: 0 })
})

test('a token that was used is refused with what to do', async () => {
  const token = await invite()
  await agent(['enrol', '--url', world.baseUrl], { input: token })
  await world.clock.advance(1000)
  const other = { TENANTRY_AGENT_STATE_DIR: join(folder, 'other') }
  const again = await agent(['enrol', '--url', world.baseUrl], { input: token, env: other })
  expect(again).toMatchObject({ exit: 4, stderr: expect.stringMatching(/tenantry hosts invite.*ENROLMENT_INVALID/) })
})

test('an enrolment that never got its answer is asked for again with the same key', async () => {
  const token = await invite()
  await world.stop()
  expect(await agent(['enrol', '--url', world.baseUrl], { input: token })).toMatchObject({
    exit: 6,
    stderr: expect.stringMatching(/UNREACHABLE/),
  })
  const pending = JSON.parse(await readFile(join(state(), 'pending-key.json'), 'utf8'))
  await world.start()
  await agent(['enrol', '--url', world.baseUrl], { input: token })
  expect(JSON.parse(await readFile(join(state(), 'identity.json'), 'utf8')).privateKey).toEqual(pending)
  expect(await readdir(state())).toEqual(['identity.json'])
})

test('after its host was revoked, an agent enrols again under the same name with another key', async () => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  const first = JSON.parse(await readFile(join(state(), 'identity.json'), 'utf8'))
  await revokeHost(world.deps, anna, { name: 'host-1', reason: 'lost' })
  expect(await agent(['enrol', '--anew', '--url', world.baseUrl], { input: await invite() })).toMatchObject({ exit: 0 })
  const second = JSON.parse(await readFile(join(state(), 'identity.json'), 'utf8'))
  expect(second.hostId).toBe(first.hostId)
  expect(second.keyId).not.toBe(first.keyId)
})

test.each(['http://daemon.example', 'ftp://daemon.example', 'daemon'])('the URL %s is refused before anything is sent', async (url) => {
  const token = await invite()
  expect(await agent(['enrol', '--url', url], { input: token })).toMatchObject({ exit: 2, stderr: expect.stringMatching(/https:\/\//) })
})

test('an agent that is not enrolled does not run, and says how to enrol', async () => {
  expect(await agent(['run'])).toMatchObject({ exit: 6, stderr: expect.stringMatching(/tenantry-agent enrol/) })
})

test('an agent whose key others can read does not run', async () => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  await chmod(join(state(), 'identity.json'), 0o644)
  expect(await agent(['run'])).toMatchObject({ exit: 2, stderr: expect.stringMatching(/chmod 600/) })
})

test('an agent runs without an engine, is seen online, refuses a second one beside it, and drains', async () => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  const leaving = new AbortController()
  const running = agent(['run'], { signal: leaving.signal })
  while (world.told.reports.length === 0) await new Promise((resolve) => setImmediate(resolve))
  expect(await agent(['run'])).toMatchObject({ exit: 5, stderr: expect.stringMatching(/Another tenantry-agent/) })
  leaving.abort()
  expect(await running).toMatchObject({ exit: 0 })
})

test('a started agent forgets an old failed rollback only once the fence of its box is gone', async () => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  const project = { name: 'oak', folder: join(folder, 'boxes', 'oak'), composeFile: 'compose.yaml' }
  const box = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1, managed: true, chatDomain: 'oak.example', project, ports: null }
  await localBoxes(state()).put({ ...box, migrationsHead: '0000' })
  const journal = await openJournal({ store: folderStore(join(state(), 'journal')), clock: manualClock('2020-01-01T00:00:00.000Z') })
  await journal.begin({ commandId: 'ro_1.oak.update', kind: 'tenant-box.update', slug: 'oak', payload: {} })
  await journal.close('ro_1.oak.update', { outcome: 'rollback_failed' })
  await journal.acknowledge('ro_1.oak.update')
  await createFenceFile(project, { commandId: 'ro_1.oak.update' })
  const recordsAfterStart = async () => {
    const leaving = new AbortController()
    const [before, running] = [world.told.reports.length, agent(['run'], { signal: leaving.signal })]
    while (world.told.reports.length === before) await new Promise((resolve) => setImmediate(resolve))
    leaving.abort()
    expect(await running).toMatchObject({ exit: 0 })
    return readdir(join(state(), 'journal'))
  }
  expect(await recordsAfterStart()).toEqual(['ro_1.oak.update.jsonl'])
  await removeFenceFile(project)
  expect(await recordsAfterStart()).toEqual([])
})

test('an agent that is shut out ends with exit code 4', async () => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  await revokeHost(world.deps, anna, { name: 'host-1', reason: 'sold' })
  expect(await agent(['run'])).toMatchObject({ exit: 4, stderr: expect.stringMatching(/sold.*HOST_REVOKED/) })
})

const checksOf = (stdout: string) =>
  Object.fromEntries(
    (JSON.parse(stdout).checks as { name: string; state: string; says: string; mend?: string }[]).map((one) => [one.name, one]),
  )

test('rotate-key replaces the key while no agent runs, and asks the one that does', async () => {
  expect(await agent(['rotate-key'])).toMatchObject({ exit: 6, stderr: expect.stringMatching(/not enrolled/) })
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  const keyId = async () => JSON.parse(await readFile(join(state(), 'identity.json'), 'utf8')).keyId as string
  const former = await keyId()
  expect(await agent(['rotate-key'])).toMatchObject({ exit: 0, stdout: expect.stringMatching(/Replaced the key of host-1/) })
  expect(await keyId()).not.toBe(former)
  expect(checksOf((await agent(['doctor', '--json'])).stdout).daemon).toMatchObject({ state: 'ok' })

  const kept = await keyId()
  const running = await fileLocks(join(state(), 'run')).acquire('agent')
  expect(await agent(['rotate-key'])).toMatchObject({ exit: 0, stdout: expect.stringMatching(/The running agent/) })
  await running.release()
  expect(await keyId()).toBe(kept)
  expect(await readdir(state())).toContain('rotate-key')
  // Done by hand meanwhile, it is not done again.
  await agent(['rotate-key'])
  expect(await readdir(state())).not.toContain('rotate-key')
})

const identityOf = async () => JSON.parse(await readFile(join(state(), 'identity.json'), 'utf8'))

test('the identity is read under the lock of the agent, so that no rotation can replace it meanwhile', async () => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  await writeFile(join(state(), 'identity.json'), '{', { mode: 0o600 })
  const running = await fileLocks(join(state(), 'run')).acquire('agent')
  expect(await agent(['run'])).toMatchObject({ exit: 5, stderr: expect.stringMatching(/Another tenantry-agent/) })
  expect(await agent(['rotate-key'])).toMatchObject({ exit: 0, stdout: expect.stringMatching(/The running agent/) })
  await running.release()
  expect(await agent(['run'])).toMatchObject({ exit: 2, stderr: expect.stringMatching(/identity\.json is damaged/) })
})

test.each([
  [
    'damaged',
    async (path: string) => writeFile(path, '{', { mode: 0o600 }),
    /next-key\.json is damaged.*fix: .*hosts revoke host-1.*enrol --anew/,
  ],
  ['no file', async (path: string) => void (await mkdir(path)), /Cannot read .*next-key\.json: EISDIR.*fix: /],
  ['readable by others', async (path: string) => writeFile(path, '{}', { mode: 0o644 }), /fix: chmod 600 .*next-key\.json/],
])('an agent whose next key is %s stops and says what to do: the daemon may know only that key', async (_, harm, says) => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  await harm(join(state(), 'next-key.json'))
  expect(await agent(['run'])).toMatchObject({ exit: 2, stderr: expect.stringMatching(says) })
  expect(await agent(['rotate-key'])).toMatchObject({ exit: 2, stderr: expect.stringMatching(says) })
  expect(world.told.reports).toEqual([])
})

test('a next key of an earlier enrolment is not taken for one of the new identity', async () => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  const former = await identityOf()
  await keyStore(state()).prepare()
  const left = await readFile(join(state(), 'next-key.json'))
  expect(await agent(['enrol', '--anew', '--url', world.baseUrl], { input: await invite('host-2') })).toMatchObject({ exit: 0 })
  // The agent was killed before it removed the key.
  await writeFile(join(state(), 'next-key.json'), left, { mode: 0o600 })
  const identity = await identityOf()
  expect(identity.hostId).not.toBe(former.hostId)
  expect(await keyStore(state()).pending()).toBeUndefined()
  expect(await readdir(state())).not.toContain('next-key.json')
  expect(await identityOf()).toEqual(identity)
})

test('a key that was enrolled before its host was revoked is replaced, without deleting the state folder', async () => {
  const token = await invite()
  await agent(['enrol', '--url', world.baseUrl], { input: token })
  const { privateKey, hostId } = await identityOf()
  // The agent was killed before it stored the answer, and the invitation is over.
  await rm(join(state(), 'identity.json'))
  await writeFile(join(state(), 'pending-key.json'), JSON.stringify(privateKey), { mode: 0o600 })
  await revokeHost(world.deps, anna, { name: 'host-1', reason: 'lost' })
  expect(await agent(['enrol', '--url', world.baseUrl], { input: await invite() })).toMatchObject({ exit: 0, stderr: '' })
  const again = await identityOf()
  expect([again.hostId, again.privateKey.x !== privateKey.x]).toEqual([hostId, true])
})

test('doctor names each failure and its fix', async () => {
  const { exit, stdout } = await agent(['doctor', '--json'])
  const checks = checksOf(stdout)
  expect(exit).toBe(1)
  expect(checks.engine).toMatchObject({ state: 'failed', mend: expect.stringMatching(/start the engine/) })
  expect(checks.restic).toMatchObject({ state: 'failed', mend: expect.stringMatching(/TENANTRY_AGENT_RESTIC/) })
  expect(checks.images).toMatchObject({ state: 'warn', mend: expect.stringMatching(/TENANTRY_AGENT_IMAGES/) })
  expect(checks.enrolment).toMatchObject({ state: 'failed', mend: expect.stringMatching(/tenantry hosts invite/) })
  expect((await agent(['doctor'])).stdout).toMatch(/✗ engine.*\n\s+fix: /)
})

test('doctor accepts a daemon that knows this host, reports a wrong clock, and never replaces the running agent', async () => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  expect(checksOf((await agent(['doctor', '--json'])).stdout).daemon).toMatchObject({ state: 'ok' })
  const skewed = checksOf((await agent(['doctor', '--json'], { offMs: 600_000 })).stdout)
  expect(skewed.clock).toMatchObject({
    state: 'failed',
    says: expect.stringMatching(/600 s ahead/),
    mend: expect.stringMatching(/timedatectl/),
  })
  await chmod(state(), 0o755)
  expect(checksOf((await agent(['doctor', '--json'])).stdout)['state folder']).toMatchObject({
    state: 'failed',
    mend: `chmod 700 ${state()}`,
  })
  const rows = await world.deps.db.selectFrom('hosts').select(['status', 'instance_id']).execute()
  expect(rows).toEqual([{ status: 'active', instance_id: null }])
  await world.stop()
  expect(checksOf((await agent(['doctor', '--json'])).stdout).daemon).toMatchObject({
    state: 'failed',
    mend: expect.stringMatching(/tenantryd is running/),
  })
})

test('doctor does not ask the daemon while a key rotation is unfinished, and a new enrolment forgets it', async () => {
  await agent(['enrol', '--url', world.baseUrl], { input: await invite() })
  for (const name of ['next-key.json', 'rotate-key']) await writeFile(join(state(), name), '{')
  const { daemon } = checksOf((await agent(['doctor', '--json'])).stdout)
  expect(daemon).toMatchObject({
    state: 'failed',
    says: expect.stringMatching(/key rotation/),
    mend: expect.stringMatching(/start the agent/),
  })
  expect(await world.deps.db.selectFrom('hosts').select('status').execute()).toEqual([{ status: 'active' }])
  expect(await agent(['enrol', '--anew', '--url', world.baseUrl], { input: await invite('host-2') })).toMatchObject({ exit: 0 })
  expect(await readdir(state())).not.toEqual(expect.arrayContaining(['next-key.json']))
  expect(await readdir(state())).not.toEqual(expect.arrayContaining(['rotate-key']))
})

test('doctor reports files that were set aside, and boxes whose record cannot be read', async () => {
  await mkdir(join(state(), 'journal-damaged'), { recursive: true, mode: 0o700 })
  await writeFile(join(state(), 'journal-damaged', 'ro_1.box_1.1.update.jsonl'), '{"he')
  await mkdir(join(state(), 'boxes'))
  await writeFile(join(state(), 'boxes', 'oak.json'), '{')
  const { stdout } = await agent(['doctor'])
  expect(stdout).toMatch(/✗ damaged file .*ro_1\.box_1\.1\.update\.jsonl is unreadable\n\s+fix: check the fence/)
  expect(stdout).toMatch(/✗ damaged file .*the record of box oak.*\n\s+fix: move the record away/)
})

test('unknown settings are refused by name, from the file and from the environment', async () => {
  expect(await agent(['doctor'], { env: { TENANTRY_AGENT_BOXDIR: 'x' } })).toMatchObject({
    exit: 1,
    stdout: expect.stringMatching(/TENANTRY_AGENT_BOXDIR is not a known setting/),
  })
  const file = join(folder, 'agent.yaml')
  await writeFile(file, 'boxesDirectory: /srv\nslots: 2\n')
  expect(await agent(['run', '--config', file])).toMatchObject({
    exit: 2,
    stderr: expect.stringMatching(/boxesDirectory is not a known.*slots is not a known/),
  })
  await writeFile(file, 'boxesDir: [\n')
  expect(await agent(['run', '--config', file])).toMatchObject({ exit: 2, stderr: expect.stringMatching(/is not YAML/) })
})

test('the environment wins over the file, and lists may be given with commas', async () => {
  const file = join(folder, 'agent.yaml')
  await writeFile(file, 'boxesDir: /srv/a\nimages: [registry.example/one]\nparallel: 2\n')
  const env = { TENANTRY_AGENT_BOXES_DIR: '/srv/b', TENANTRY_AGENT_IMAGES: 'r.example/a, r.example/b/*', OTHER: 'x' }
  expect(loadAgentSettings({ file, env })).toMatchObject({
    boxesDir: '/srv/b',
    images: ['r.example/a', 'r.example/b/*'],
    parallel: 2,
    restic: 'restic',
  })
})

test('a host without boxes says so, and an unknown box is not found', async () => {
  await mkdir(state())
  expect(await agent(['box', 'list'])).toMatchObject({ exit: 0, stdout: 'No boxes on this host.\n' })
  expect(await agent(['box', 'list', '--json'])).toMatchObject({ exit: 0, stdout: '{\n  "boxes": []\n}\n' })
  expect(await agent(['box', 'versions', 'elm-school'])).toMatchObject({ exit: 3, stderr: expect.stringMatching(/box list/) })
  expect(await agent(['box', 'show', '../etc'])).toMatchObject({ exit: 2 })
  expect(await agent(['nonsense'])).toMatchObject({ exit: 2 })
  expect(await agent(['--help'])).toMatchObject({ exit: 0, stdout: expect.stringMatching(/enrol/) })
})

test('a settings file that holds a list is refused with what it should look like', async () => {
  const file = join(folder, 'agent.yaml')
  await writeFile(file, '- stateDir: /var/lib/tenantry-agent\n')
  expect(() => loadAgentSettings({ env: {}, file })).toThrow(/does not contain settings\. fix: write lines such as `stateDir:/)
})
