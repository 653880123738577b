import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compose } from '../testbed/testbed.ts'
import { type Conversation, converse } from './support/conversation.ts'
import { composeFile, type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// An update that cannot be kept: the box must come back as it was, with everything that was said.

type Action = {
  tenantSlug: string
  status: string
  snapshotId: string | null
  durationMs: number | null
  fencedMs: number | null
  error: { code: string; message: string } | null
  snapshotOk: boolean
  healthOk: boolean
  rolledBack: boolean
}
type Detail = { id: string; status: string; pauseReason: string | null; actions: Action[] }

let fleet: Fleet
const talks = new Map<string, Conversation>()
const talkIn = (slug: string) => talks.get(slug) as Conversation
/** The files of the boxes before their updates. */
const before = new Map<string, string>()
let broken: Detail

beforeAll(async () => {
  // A new server that never gets well is waited for as long as this; both boxes of the first phase wait at the same time.
  fleet = await startFleet({ TENANTRY_PROBE_TIMEOUT_MS: '40000', TENANTRY_ROLLOUTS_PER_HOST: '2' })
  await fleet.applySynapse('1.157.1')
  const made = ([['kita-alt', '1.97.0'], ['kita-ost']] as const).map(async ([slug, synapse]) => {
    talks.set(slug, await converse(await fleet.provision(slug, 'light', synapse), 40))
    before.set(slug, await composeFile(fleet, slug))
    await fleet.api.boxes.changeBox({ params: { slug }, body: { canary: true } })
  })
  await Promise.all(made)
  await untilSettled('kita-alt')
  broken = await updateTo('1.163.2-broken', 'kita-alt,kita-ost', '2')
})
logOnFailure(() => fleet)
afterAll(() => fleet?.end())

const rolledBack = {
  status: 'rolled_back',
  // It is restored from the copy, before a snapshot is stored.
  snapshotOk: false,
  healthOk: false,
  rolledBack: true,
  snapshotId: null,
  durationMs: expect.any(Number),
  error: { code: 'PROBE_FAILED', message: expect.any(String) },
}

async function updateTo(version: string, slugs: string, failureThreshold: string): Promise<Detail> {
  await fleet.applySynapse(version)
  const threshold = ['--failure-threshold', failureThreshold]
  const waited = await fleet.tenantry('rollouts', 'create', '--target', slugs, ...threshold, '--start', '--wait', '--json')
  expect(waited.exitCode).toBe(8)
  return waited.json<Detail>()
}

/** A Synapse that raises what may read the database is refused while the former one still has work to do on it. */
const untilSettled = (slug: string) =>
  eventually('the background updates of the former version have ended', async () => {
    const { commands } = await fleet.api.boxes.scanBoxes({ body: { slugs: [slug] } })
    await Promise.all(commands.map(({ commandId }) => fleet.commandEnds(commandId)))
    const { report } = await fleet.api.boxes.showBox({ params: { slug } })
    return report?.facts?.backgroundUpdates?.length === 0
  })

const runningImage = async (slug: string) =>
  (await compose(fleet.testbed, fleet.boxFolder(slug))('images', 'synapse', '--format', 'json')).stdout

const actionOf = ({ actions }: Detail, slug: string) => actions.find(({ tenantSlug }) => tenantSlug === slug)

test('a new version that fails its probes is rolled back, and the chat works on the old one with every message', async () => {
  const talk = talkIn('kita-ost')
  expect(broken.status).toBe('paused')
  expect(broken.pauseReason).toContain('kita-ost')
  expect(actionOf(broken, 'kita-ost')).toMatchObject(rolledBack)
  expect(await runningImage('kita-ost')).toContain('v1.157.1')
  await talk.expectComplete()
  await talk.say('still here after the restore')
  await talk.expectComplete()
  // Only the name of the database's volume may differ: it is that of the copy.
  const withoutVolume = (text: string) => text.replace(/name: .*postgres.*/g, 'name: volume')
  expect(withoutVolume(await composeFile(fleet, 'kita-ost'))).toBe(withoutVolume(before.get('kita-ost') as string))
  expect(await readdir(`${fleet.boxFolder('kita-ost')}/edge/fence`)).toEqual([])
})

test('where the old version refuses the migrated database, the snapshot brings the box back', async () => {
  const talk = talkIn('kita-alt')
  expect(actionOf(broken, 'kita-alt')).toMatchObject(rolledBack)
  expect(await runningImage('kita-alt')).toContain('v1.97.0')
  await talk.expectComplete()
  await talk.say('back on the old version')
  await talk.expectComplete()
})
