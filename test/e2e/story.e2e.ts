import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { compose } from '../testbed/testbed.ts'
import { type Conversation, converse, pollEdge, type ReachableBox } from './support/conversation.ts'
import { composeFile, type Fleet, logOnFailure, manifestOf, startFleet } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// The story that an operator types by hand, in its order: each test goes on where the one before ended.

type Action = { tenantSlug: string; phase: string; status: string }
type Detail = { id: string; status: string; pauseReason: string | null; actions: Action[] }

let fleet: Fleet
let light: ReachableBox
let pro: ReachableBox
const talks = new Map<string, Conversation>()
const show = async (id: string) => (await fleet.must('rollouts', 'show', id, '--json')).json<Detail>()
const running = async (id: string) => (await fleet.api.rollouts.getRollout({ params: { id } })).counts.running
const underWay = (id: string) => eventually('a box is under way', async () => (await running(id)) === 1)
const cameToRest = (id: string) =>
  eventually('no box is under way', async () => {
    const rollout = await fleet.api.rollouts.getRollout({ params: { id } })
    return rollout.counts.running === 0 && ['done', 'paused', 'failed'].includes(rollout.status) && rollout
  })

beforeAll(async () => {
  fleet = await startFleet()
})
logOnFailure(() => fleet)
afterAll(() => fleet?.end())

test('two boxes are provisioned, probed, and in the registry with the versions that run', async () => {
  const manifest = join(fleet.folder, 'manifest.yaml')
  await writeFile(manifest, stringify(manifestOf(fleet.testbed, '1.157.1')))
  await fleet.must('manifest', 'apply', manifest, '--yes')
  const about = ['--name', 'Kita Nord', '--plan', 'light', '--domain', 'kita-nord.example', '--host', 'host-1']
  ;[, pro] = await Promise.all([fleet.must('boxes', 'provision', 'kita-nord', ...about), fleet.provision('schule-west', 'pro')])
  light = await fleet.findBox('kita-nord')
  const { boxes } = (await fleet.must('boxes', 'list', '--json')).json<{
    boxes: { slug: string; installed: { synapse: string }; severity: string; managed: boolean }[]
  }>()
  expect(boxes.map(({ slug, installed, managed }) => [slug, installed.synapse, managed])).toEqual([
    ['kita-nord', '1.157.1', true],
    ['schule-west', '1.157.1', true],
  ])
  const probe = await fleet.must('boxes', 'check', 'kita-nord')
  expect(probe.stdout).toMatch(/chat/i)
})

test('people talk in both boxes', async () => {
  for (const box of [light, pro]) {
    const talk = await converse(box, 25)
    await talk.expectComplete()
    talks.set(box.slug, talk)
  }
})

test('a new manifest shows as minor drift, and as a plan', async () => {
  await fleet.applySynapse('1.163.2')
  await fleet.must('boxes', 'scan', '--json')
  const { boxes } = (await fleet.must('boxes', 'list', '--json')).json<{
    boxes: { slug: string; severity: string; components: Record<string, string> }[]
  }>()
  expect(boxes.find(({ slug }) => slug === 'kita-nord')).toMatchObject({
    severity: 'minor',
    components: { synapse: 'minor', postgres: 'none' },
  })
  const plan = await fleet.must('rollouts', 'plan', '--target', 'kita-nord', '--target', 'schule-west')
  expect(plan.stdout).toMatch(/kita-nord.*1\.157\.1.*1\.163\.2/)
})

test('a paused rollout updates both boxes after it is resumed; a client sees 200 or the fence, and every message is there', async () => {
  const before = await composeFile(fleet, 'kita-nord')
  const polls = [light, pro].map((box) => pollEdge(box, talks.get(box.slug) as Conversation))
  const made = await fleet.must('rollouts', 'create', '--target', 'kita-nord', '--target', 'schule-west', '--start', '--json')
  const { id } = made.json<Detail>()
  await underWay(id)
  await fleet.must('rollouts', 'pause', id, '--reason', 'lunch time')
  const paused = await cameToRest(id)
  expect([paused.status, paused.pauseReason]).toEqual(['paused', 'lunch time'])
  expect(paused.actions.map(({ tenantSlug, phase, status }) => [tenantSlug, phase, status]).sort()).toEqual([
    ['kita-nord', 'canary', 'succeeded'],
    ['schule-west', 'pro', 'pending'],
  ])

  const watched = await fleet.must('rollouts', 'resume', id, '--watch')
  const seen = await Promise.all(polls.map((poll) => poll.stop()))
  expect(watched.stdout).toMatch(/schule-west +succeeded[\s\S]*done: 2 of 2 boxes updated/)
  for (const answers of seen) {
    expect([...answers.keys()].sort()).toEqual(['200', 'fenced'])
  }
  const rollout = await show(id)
  expect(rollout.status).toBe('done')
  expect(rollout.actions.map(({ tenantSlug, status }) => [tenantSlug, status]).sort()).toEqual([
    ['kita-nord', 'succeeded'],
    ['schule-west', 'succeeded'],
  ])
  for (const talk of talks.values()) await talk.expectComplete()

  const copies = (await readdir(fleet.boxFolder('kita-nord'))).filter((name) => name.startsWith('compose.yaml.'))
  expect(copies).toHaveLength(1)
  expect(before).toContain('v1.157.1')
  expect(await composeFile(fleet, 'kita-nord')).toBe(before.replaceAll('v1.157.1', 'v1.163.2'))
})

test('a tag that the registry lacks is refused by the plan, and touches nothing', async () => {
  await fleet.applySynapse('1.163.9')
  const before = await composeFile(fleet, 'kita-nord')
  const started = await containerIds()
  const refusedPlan = await fleet.tenantry('rollouts', 'create', '--target', 'kita-nord', '--start', '--json', '--wait')
  expect([refusedPlan.exitCode, refusedPlan.stderr]).toEqual([
    5,
    expect.stringMatching(/v1\.163\.9 of kita-nord does not exist.*IMAGE_NOT_FOUND/),
  ])
  expect(await composeFile(fleet, 'kita-nord')).toBe(before)
  expect(await containerIds()).toBe(started)
})

test('what was done is in the audit log, and its chains hold', async () => {
  const listed = await fleet.must('audit', 'list', '--json')
  for (const act of ['host.invited', 'box.provision', 'manifest.applied', 'rollout.created']) expect(listed.stdout).toContain(act)
  await fleet.must('audit', 'verify')
})

const containerIds = async () => {
  const { stdout } = await compose(fleet.testbed, fleet.boxFolder('kita-nord'))('ps', '-q')
  return stdout
}
