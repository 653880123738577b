import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Conversation, converse } from './support/conversation.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { eventually, run } from './support/programs.ts'

// The state folder of an agent is lost while an update has its box fenced. An operator types what docs/operating.md says; each test goes on
// where the one before ended.

let fleet: Fleet
let talk: Conversation
let rollout: string
let snapshot: string
const stateDir = () => join(fleet.folder, 'agent')
const agentEnv = () => ({ TENANTRY_AGENT_STATE_DIR: stateDir() })
const fence = async () => (await readdir(join(fleet.boxFolder('oak'), 'edge', 'fence'))).includes('on')
type Box = { fenced: boolean; fence: { holder: string } | null; managed: boolean; installed: { synapse: string } }
const oak = async () => (await fleet.must('boxes', 'show', 'oak', '--json')).json<Box>()

beforeAll(async () => {
  // Slow probes: the update stays fenced at its probe until the agent is killed.
  fleet = await startFleet({ TENANTRY_PROBE_SPACING_MS: '5000' })
  await fleet.applySynapse('1.157.1')
  talk = await converse(await fleet.provision('oak', 'light'), 20)
  await fleet.must('snapshots', 'take', 'oak', '--wait')
  const { snapshots } = (await fleet.must('snapshots', 'list', '--slug', 'oak', '--json')).json<{ snapshots: { snapshotId: string }[] }>()
  snapshot = snapshots[0]?.snapshotId ?? ''
}, 300_000)
logOnFailure(() => fleet)
afterAll(() => fleet?.end())

// With a snapshot from before, the slow probes are a step of their own.
test('the agent is killed under the fence, and its state folder is gone', async () => {
  await fleet.applySynapse('1.163.2')
  const order = ['--fence-mode', 'until-stable', '--snapshot-mode', 'before', '--start', '--json']
  rollout = (await fleet.must('rollouts', 'create', '--target', 'oak', ...order)).json<{ id: string }>().id
  await eventually('the update is at its probe', async () => {
    const { actions } = await fleet.api.rollouts.getRollout({ params: { id: rollout } })
    return JSON.stringify(actions).includes('"probe"')
  })
  await fleet.agent.kill('SIGKILL')
  await rm(stateDir(), { recursive: true })
  expect(await fence()).toBe(true)
})

test('after revoke and a new enrolment the rollout ends its wait, and the box can be released', async () => {
  await fleet.must('hosts', 'revoke', 'host-1', '--reason', 'its state folder is lost', '--yes')
  const { token } = (await fleet.must('hosts', 'invite', 'host-1', '--json')).json<{ token: string }>()
  await writeFile(join(fleet.folder, 'invite'), token, { mode: 0o600 })
  const enrolled = await run('tenantry-agent', ['enrol', '--url', fleet.url, '--token-file', join(fleet.folder, 'invite')], agentEnv())
  expect(enrolled).toMatchObject({ exitCode: 0 })
  fleet.agent.start()
  const action = await eventually('the action is over', async () => {
    const found = (await fleet.must('rollouts', 'show', rollout, '--json')).json<{ actions: { status: string; error: unknown }[] }>()
    return found.actions[0]?.status === 'failed' && found.actions[0]
  })
  expect(action).toMatchObject({ error: { code: 'HOST_REVOKED', message: expect.stringContaining('state folder') } })
  // The rollout holds the box until an operator decides, or has released it already.
  const released = await fleet.tenantry('boxes', 'release', 'oak', '--reason', 'its agent lost the update', '--yes', '--confirm', 'oak')
  expect(`${released.stdout}${released.stderr}`).toMatch(/released|has no hold/)
})

test('the box is registered again: it is seen as fenced by the lost command', async () => {
  await fleet.must('boxes', 'adopt', 'oak', '--again')
  expect(await oak()).toMatchObject({ managed: true, fence: { holder: expect.stringContaining(rollout) } })
  const asked = await run('tenantry-agent', ['box', 'unfence', 'oak'], agentEnv())
  expect(asked.stderr).toContain('lost with the state folder')
})

test('a restore opens it with every message of the snapshot', async () => {
  await fleet.must('snapshots', 'restore', 'oak', '--snapshot', snapshot, '--reason', 'the update was lost', '--yes', '--wait')
  expect(await fence()).toBe(false)
  expect(await oak()).toMatchObject({ fence: null, installed: { synapse: '1.157.1' } })
  await talk.say('after the restore')
})

test('and it can be removed', async () => {
  await fleet.must('boxes', 'remove', 'oak', '--reason', 'the end of the test', '--now', '--yes', '--confirm', 'oak')
  await eventually('its folder is gone', async () => !(await readdir(join(fleet.folder, 'boxes'))).includes('oak'))
})
