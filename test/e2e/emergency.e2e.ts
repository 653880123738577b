import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sha256Hex } from '../../src/core/kit/index.ts'
import { deleteTag, pushTag } from '../testbed/testbed.ts'
import { type Conversation, converse } from './support/conversation.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'

// A vulnerability is exploited while a staged rollout runs: paying tenants first, all in the end, no box twice.

type Action = { tenantSlug: string; status: string; from: { synapse: string }; to: { synapse: string }; findings: { code: string }[] }
type Detail = {
  id: string
  status: string
  pauseReason: string | null
  actions: Action[]
  auditLog: { action: string; data: Record<string, unknown> }[]
  digests: Record<string, string>
  plan: { images: { image: string; digest: string | null; from: string; askedFrom?: string }[] }
}
type Attempts = { attempts: { digestsAfter: Record<string, string> }[] }

const token = 'the approval token of this test'
/** The same Synapse under a name that is older than the emergency's. */
const staged = '1.157.9'
const talks: Conversation[] = []
let fleet: Fleet
let stagedDigest: string

beforeAll(async () => {
  stagedDigest = await pushTag('synapse', 'v1.157.1', `v${staged}`, { relabel: true })
  // Two boxes are recreated at the same time here, which takes a slow machine longer than one.
  fleet = await startFleet({ TENANTRY_APPROVAL_TOKEN_SHA256: sha256Hex(token), TENANTRY_PROBE_TIMEOUT_MS: '240000' })
  await writeFile(join(fleet.folder, 'token'), `${token}\n`, { mode: 0o600 })
  await fleet.applySynapse('1.157.1')
  const made = [fleet.provision('em-frei', 'light'), fleet.provision('em-prima', 'pro')]
  talks.push(...(await Promise.all(made.map(async (box) => converse(await box, 5)))))
})
logOnFailure(() => fleet)
afterAll(async () => {
  await deleteTag('synapse', `v${staged}`)
  await fleet?.end()
})

const show = async (id: string) => (await fleet.must('rollouts', 'show', id, '--boxes', '--json')).json<Detail>()

test('an emergency pauses the staged rollout, waits for its box under way, and goes to pro before free', async () => {
  await fleet.applySynapse(staged)
  const running = (await fleet.must('rollouts', 'create', '--target', 'em-frei,em-prima', '--json')).json<Detail>()
  const image = `${fleet.testbed.images['synapse-1.157.1'].repository}:v${staged}`
  expect(running.plan.images).toEqual([{ image, digest: stagedDigest, from: 'registry', askedFrom: expect.any(String) }])
  expect(running.digests).toEqual({ [image]: stagedDigest })
  // The manifest that is current now was not approved, so no box gets it.
  await pushTag('synapse', 'v1.163.2', `v${staged}`)
  await fleet.must('rollouts', 'start', running.id)
  const order = [
    '--cve',
    'CVE-2026-12345',
    '--reason',
    'rooms of others can be read',
    '--to-chat-server',
    '1.163.2',
    '--triggered-by',
    'anna',
  ]
  const sent = ['--token-file', join(fleet.folder, 'token'), '--yes', '--start', '--skip-refused', '--wait', '--json']
  const emergency = (await fleet.must('rollouts', 'emergency', ...order, ...sent)).json<Detail>()
  expect([emergency.id, emergency.status]).toEqual([expect.stringMatching(/^cve-\d{8}-[0-9a-z]{8}$/), 'done'])
  expect(emergency.actions.map(({ tenantSlug, status, to }) => [tenantSlug, status, to.synapse]).toSorted()).toEqual([
    ['em-frei', 'succeeded', '1.163.2'],
    ['em-prima', 'succeeded', '1.163.2'],
  ])
  expect(emergency.auditLog.filter(({ action }) => action === 'rollout.action.begun').map(({ data }) => data.slug)).toEqual([
    'em-prima',
    'em-frei',
  ])
  const paused = await show(running.id)
  expect(paused).toMatchObject({ status: 'paused', pauseReason: expect.stringContaining(emergency.id) })
  const { attempts } = (await fleet.must('rollouts', 'show', running.id, '--box', 'em-frei', '--json')).json<Attempts>()
  expect(attempts.map(({ digestsAfter }) => digestsAfter.synapse)).toEqual([stagedDigest])
  for (const talk of talks) await talk.expectComplete()

  const resumed = await fleet.must('rollouts', 'resume', running.id, '--wait', '--json')
  const { status, actions } = resumed.json<Detail>()
  expect(status).toBe('done')
  expect(actions.find(({ tenantSlug }) => tenantSlug === 'em-prima')).toMatchObject({
    status: 'skipped',
    findings: [{ code: 'AHEAD_OF_PLAN' }],
  })
  const { boxes } = (await fleet.must('boxes', 'list', '--json')).json<{ boxes: { installed: { synapse: string } }[] }>()
  expect(boxes.map(({ installed }) => installed.synapse)).toEqual(['1.163.2', '1.163.2'])
})

test('the token is in nothing that was written or printed', async () => {
  const texts = [fleet.daemon.output(), fleet.agent.output(), (await fleet.must('audit', 'list', '--json')).stdout]
  const database = await Promise.all(
    ['tenantry.db', 'tenantry.db-wal'].map((name) => readFile(join(fleet.folder, 'daemon', name), 'latin1').catch(() => '')),
  )
  expect(database[0]?.length).toBeGreaterThan(0)
  for (const text of [...texts, ...database]) expect(text).not.toContain(token)
})
