import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fenceFile, localBoxes } from '../../../src/agent/boxes/index.ts'
import { fileLocks, folderStore, openJournal } from '../../../src/agent/journal/index.ts'
import type { LocalBox } from '../../../src/agent/ports/index.ts'
import { runProgram } from '../../../src/agent/program/main.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { readIfThere, systemRandom } from '../../../src/node/index.ts'
import { aBox } from '../simulated/boxes.ts'

let folder: string
let box: LocalBox
let engine: Server
const clock = manualClock()
const boxes = () => localBoxes(join(folder, 'state'))
const fence = () => readIfThere(fenceFile(box.project))

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'tenantry-box-')))
  box = await aBox({ folder })
  await boxes().put(box)
  // An engine with no containers: every question has an empty answer.
  engine = createServer((_, answer) => answer.setHeader('content-type', 'application/json').end('[]'))
  await new Promise<void>((ready) => engine.listen(join(folder, 'engine.sock'), ready))
})
afterEach(async () => {
  await new Promise((done) => engine.close(done))
  await rm(folder, { recursive: true, force: true })
})

const hereByEnvironment = () => ({
  TENANTRY_AGENT_STATE_DIR: join(folder, 'state'),
  TENANTRY_AGENT_BOXES_DIR: join(folder, 'boxes'),
  TENANTRY_AGENT_DOCKER_HOST: `unix://${folder}/engine.sock`,
})

type Given = { input?: string; terminal?: boolean; env?: Record<string, string>; usualSettings?: string }

async function agent(argv: string[], { input = '', terminal = false, env = hereByEnvironment(), ...more }: Given = {}) {
  const said = { stdout: '', stderr: '' }
  const into = (stream: keyof typeof said) => ({
    write: (text: string) => {
      said[stream] += text
    },
  })
  const exit = await runProgram(argv, {
    ...more,
    env,
    stdin: Object.assign(Readable.from([input]), { isTTY: terminal }),
    stdout: into('stdout'),
    stderr: into('stderr'),
    signal: new AbortController().signal,
    clock,
    random: systemRandom,
  })
  return { exit, ...said }
}

const commandId = 'ro_1.box_oak.1.update'
const fenced = (holder = commandId) =>
  writeFile(fenceFile(box.project), JSON.stringify({ commandId: holder, raisedAt: '2026-01-01T00:00:00.000Z' }))

async function aRecord(result?: unknown, kind = 'update') {
  const journal = await openJournal({ store: folderStore(join(folder, 'state', 'journal')), clock })
  await journal.begin({ commandId, kind: `tenant-box.${kind}`, slug: 'oak', payload: { ownershipEpoch: box.ownershipEpoch } })
  if (result) await journal.close(commandId, result)
}

test('what is typed without naming any settings is about the agent of the usual file, and a named file or the environment wins', async () => {
  const usualSettings = join(folder, 'tenantry-agent.yaml')
  await writeFile(usualSettings, `stateDir: ${folder}/state\ndockerHost: unix://${folder}/engine.sock\n`)
  expect((await agent(['box', 'list'], { env: {}, usualSettings })).stdout).toMatch(/^oak +managed/)
  expect((await agent(['doctor'], { env: {}, usualSettings })).stdout).toContain(`✓ settings       ${usualSettings}\n`)
  const elsewhere = join(folder, 'elsewhere')
  await mkdir(elsewhere)
  await writeFile(join(folder, 'other.yaml'), `stateDir: ${elsewhere}\n`)
  const none = { exit: 0, stdout: 'No boxes on this host.\n' }
  expect(await agent(['box', 'list', '--config', join(folder, 'other.yaml')], { env: {}, usualSettings })).toMatchObject(none)
  expect(await agent(['box', 'list'], { env: { TENANTRY_AGENT_STATE_DIR: elsewhere }, usualSettings })).toMatchObject(none)
})

test('without the agent’s folder the command fails instead of listing no boxes, and creates no folder', async () => {
  const env = { TENANTRY_AGENT_STATE_DIR: join(folder, 'nothing') }
  for (const verb of [['list'], ['probe', 'oak'], ['maintenance', 'off', 'oak']])
    expect(await agent(['box', ...verb], { env, usualSettings: join(folder, 'none.yaml') })).toMatchObject({
      exit: 6,
      stderr: expect.stringMatching(/State folder .*\/nothing does not exist.*--config.*\[CONFIG\]/),
    })
  expect(await readdir(folder)).not.toContain('nothing')
})

test('maintenance starts and ends on the host itself, and the fence names its owner', async () => {
  expect(await agent(['box', 'maintenance', 'on', 'oak', '--reason', 'new disks', '--json'])).toMatchObject({
    exit: 0,
    stdout: expect.stringMatching(/"holder": "maintenance"/),
  })
  expect((await agent(['box', 'fence', 'status', 'oak'])).stdout).toMatch(/^oak is fenced by maintenance since \d{4}-.*: new disks\n$/)
  expect(await agent(['box', 'maintenance', 'off', 'oak'])).toMatchObject({ exit: 0, stdout: 'oak is open: no fence\n' })
  expect((await agent(['box', 'fence', 'status', 'oak', '--json'])).stdout).toBe('{\n  "fence": null\n}\n')
  const wrong = "error: required option '--reason <text>' not specified [USAGE]\nnext:  tenantry-agent box maintenance on --help\n"
  expect(await agent(['box', 'maintenance', 'on', 'oak'])).toEqual({ exit: 2, stdout: '', stderr: wrong })
})

test('whatever changes a box is refused while the agent works on it, or has something in hand for it', async () => {
  const verbs = [
    ['box', 'maintenance', 'on', 'oak', '--reason', 'x'],
    ['box', 'maintenance', 'off', 'oak'],
    ['box', 'unfence', 'oak', '--confirm', 'oak'],
    ['box', 'release', 'oak', '--confirm', 'oak'],
  ]
  await fenced()
  const lock = await fileLocks(join(folder, 'state', 'locks')).acquire('oak')
  for (const verb of verbs) expect(await agent(verb)).toMatchObject({ exit: 5, stderr: expect.stringMatching(/BOX_HELD/) })
  await lock.release()
  await aRecord()
  for (const verb of verbs)
    expect(await agent(verb)).toMatchObject({
      exit: 5,
      stderr: expect.stringMatching(/ro_1\.box_oak\.1\.update on box oak is not finished.*BOX_HELD/),
    })
  expect(await fence()).toBeDefined()
})

test('a box fenced after a failed rollback is opened only after its name was typed', async () => {
  await fenced()
  await aRecord({ outcome: 'rollback_failed' })
  const piped = await agent(['box', 'unfence', 'oak'])
  expect(piped).toMatchObject({
    exit: 2,
    stderr: expect.stringMatching(/rollback of ro_1.*are lost if you later restore.*--confirm oak/s),
  })
  expect(await agent(['box', 'unfence', 'oak', '--confirm', 'elm'])).toMatchObject({ exit: 2 })
  expect(await agent(['box', 'unfence', 'oak'], { terminal: true, input: 'yes\n' })).toMatchObject({
    exit: 1,
    stderr: expect.stringMatching(/CANCELLED/),
  })
  expect(await fence()).toBeDefined()
  expect(await agent(['box', 'unfence', 'oak'], { terminal: true, input: 'oak\n' })).toMatchObject({
    exit: 0,
    stdout: 'oak is open: no fence\n',
  })
  expect(await fence()).toBeUndefined()
  expect(await agent(['box', 'unfence', 'oak'])).toMatchObject({ exit: 0, stdout: 'oak is not fenced\n' })
})

test.each([
  ['a hand-over that failed for good', 'hand_over', { failure: { code: 'DISK_FULL', message: 'full' } }, /: the rollback of .* failed\./],
  ['a take-over that was not opened', 'take_over', { outcome: 'restored', error: { code: 'INTERNAL' } }, /: the unfence after .* failed\./],
])('a box fenced since %s is opened by its name', async (_, kind, result, says) => {
  await boxes().put({ ...box, ...(kind === 'hand_over' ? { handedOver: { at: '', holder: commandId } } : {}) })
  await fenced()
  await aRecord(result, kind)
  expect((await agent(['box', 'unfence', 'oak'])).stderr).toMatch(says)
  expect(await agent(['box', 'unfence', 'oak', '--confirm', 'oak'])).toMatchObject({ exit: 0, stdout: 'oak is open: no fence\n' })
  expect(await fence()).toBeUndefined()
  // An open box belongs to this host: no command may be refused because of an old record.
  expect((await boxes().find('oak'))?.handedOver).toBeUndefined()
})

test('a box that another host has is not opened by hand', async () => {
  await boxes().put({ ...box, ownershipEpoch: 2, handedOver: { at: '', holder: commandId } })
  await fenced()
  await aRecord({ failure: { code: 'DISK_FULL', message: 'full' } }, 'hand_over')
  const refused = await agent(['box', 'unfence', 'oak', '--confirm', 'oak'])
  expect(refused).toMatchObject({ exit: 5, stderr: expect.stringMatching(/it is or may be on another host/) })
  expect(await fence()).toBeDefined()
})

test.each([
  ['an update that ended otherwise', { outcome: 'rolled_back' }, commandId, /did not end in a failed rollback/],
  ['a command that this host does not know', undefined, 'ro_9.box_oak.1.update', /is not in the journal of this host/],
  ['maintenance', undefined, 'maintenance', /maintenance off oak/],
])('the fence of %s is not lifted by hand', async (_, result, holder, says) => {
  await fenced(holder)
  if (result) await aRecord(result)
  expect(await agent(['box', 'unfence', 'oak', '--confirm', 'oak'])).toMatchObject({ exit: 5, stderr: expect.stringMatching(says) })
  expect(await fence()).toBeDefined()
})

test('an observed box is forgotten, a managed one is not, and nothing of either is touched', async () => {
  expect(await agent(['box', 'release', 'oak', '--confirm', 'oak'])).toMatchObject({ exit: 5, stderr: expect.stringMatching(/is managed/) })
  await boxes().put({ ...box, managed: false })
  expect(await agent(['box', 'maintenance', 'on', 'oak', '--reason', 'x'])).toMatchObject({
    exit: 5,
    stderr: expect.stringMatching(/BOX_NOT_MANAGED/),
  })
  expect(await agent(['box', 'release', 'oak'])).toMatchObject({ exit: 2, stderr: expect.stringMatching(/--confirm oak/) })
  expect(await agent(['box', 'release', 'oak', '--confirm', 'oak'])).toMatchObject({ exit: 0 })
  expect(await boxes().find('oak')).toBeUndefined()
  expect(await readIfThere(box.project.composeFile)).toBeDefined()
})

test('a probe of a sick box ends with 1 and says what is sick; logs take only what exists', async () => {
  const probed = await agent(['box', 'probe', 'oak'])
  expect(probed).toMatchObject({ exit: 1, stdout: expect.stringMatching(/^oak: failed\n {2}✗ chatApi +synapse is not running/) })
  expect(await agent(['box', 'logs', 'oak'])).toMatchObject({ exit: 0, stdout: 'No log lines.\n' })
  expect(await agent(['box', 'logs', 'oak', '--service', 'edge', 'synapse', '--json'])).toMatchObject({
    exit: 0,
    stdout: '{\n  "lines": []\n}\n',
  })
  for (const wrong of [
    ['--service', 'redis'],
    ['--lines', '0'],
    ['--since', 'yesterday'],
  ])
    expect(await agent(['box', 'logs', 'oak', ...wrong])).toMatchObject({ exit: 2, stderr: expect.stringMatching(/USAGE/) })
})

test('no verb works on a box that is not here', async () => {
  await mkdir(join(folder, 'state'), { recursive: true })
  for (const verb of [['probe'], ['logs'], ['fence', 'status'], ['maintenance', 'off'], ['unfence'], ['release']])
    expect(await agent(['box', ...verb, 'elm-school'])).toMatchObject({ exit: 3, stderr: expect.stringMatching(/box list/) })
})

test('doctor says of a closed box who closed it, and what to type', async () => {
  const mendOf = async () => {
    const { stdout } = await agent(['doctor', '--json'])
    return (JSON.parse(stdout).checks as { name: string; says: string; mend?: string }[]).find(({ name }) => name === 'box oak')
  }
  await agent(['box', 'maintenance', 'on', 'oak', '--reason', 'new disks'])
  expect(await mendOf()).toMatchObject({
    says: expect.stringMatching(/fenced by maintenance since .*new disks/),
    mend: expect.stringMatching(/maintenance off oak/),
  })
  await agent(['box', 'maintenance', 'off', 'oak'])
  await fenced()
  expect(await mendOf()).toMatchObject({ says: expect.stringMatching(/fenced by ro_1/), mend: expect.stringMatching(/box unfence oak/) })
})
