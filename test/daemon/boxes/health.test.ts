import { afterEach, beforeEach, expect, test } from 'vitest'
import type { VersionsReport } from '../../../src/core/boxes/index.ts'
import { isoIn, isoNow } from '../../../src/core/kit/index.ts'
import { applyReports, healthWatch } from '../../../src/daemon/boxes/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { aProbe, aReport } from '../../support/boxes.ts'
import { aBoxesWorld, aLiveBox, anApi, type BoxesWorld, heardOf } from '../../support/boxes-world.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { roundsOf } from '../../support/loops.ts'

let db: Db
let room: BoxesWorld
beforeEach(async () => {
  db = (await emptyDatabase('sqlite')).db
  room = await aBoxesWorld(db)
  await aLiveBox(room, 'linden')
  await report()
})
afterEach(() => db.destroy())

const service = (state: 'running' | 'exited') => ({ image: 'registry.example/x:1', digest: null, state, restartCount: 0 })
const services = (change: Partial<VersionsReport['services']> = {}): VersionsReport['services'] => ({
  ...{ edge: service('running'), synapse: service('running'), postgres: service('running'), minio: service('running') },
  ...change,
})

async function report(change: Partial<VersionsReport> = {}): Promise<void> {
  const full = aReport('linden', { at: isoNow(room.clock), services: services(), ...change })
  await db.transaction().execute((tx) => applyReports({ tx, clock: room.clock }, 'hst_host-1' as never, [full]))
}

const failedCheck = () => ({
  check: {
    ...aProbe(isoNow(room.clock)),
    verdict: 'failed' as const,
    components: { ...aProbe().components, chatSync: { ok: false, ms: 1, error: '502' } },
  },
  restarts: {},
})

async function pass(ms: number): Promise<void> {
  await room.clock.advance(ms)
  await heardOf(room)
  await roundsOf({ ...room, owner: 'one' }, healthWatch(room))()
}

const open = () => db.selectFrom('alerts').select(['kind', 'subject', 'count']).where('open_key', 'is not', null).orderBy('id').execute()
const shown = async () => {
  const { health } = await (await anApi(room)).showBox({ params: { slug: 'linden' } })
  return [health?.state, health?.since, health?.why]
}
const counts = async () => (await (await anApi(room)).countBoxes()).health

test('a stopped chat server is down at once, alerts after two minutes, once, and closes by itself', async () => {
  const since = isoNow(room.clock)
  await report({ services: services({ synapse: service('exited') }) })
  expect(await shown()).toEqual(['down', since, 'synapse is exited'])
  expect(await counts()).toEqual({ running: 0, degraded: 0, down: 1, maintenance: 0, unknown: 0 })
  await pass(119_000)
  expect(await open()).toEqual([])
  await pass(1_000)
  await pass(10_000)
  expect(await open()).toEqual([{ kind: 'box_down', subject: 'linden', count: 1 }])
  await report()
  await pass(10_000)
  expect(await open()).toEqual([])
})

test('a chat that does not answer is down, although every container runs', async () => {
  await report({ watch: failedCheck() })
  await pass(120_000)
  expect(await open()).toEqual([{ kind: 'box_down', subject: 'linden', count: 1 }])
  expect((await shown())[2]).toBe('chatSync: 502')
})

test('an object store that stopped degrades; when more stops, one alert replaces the other', async () => {
  await report({ services: services({ minio: service('exited') }) })
  await pass(120_000)
  expect((await open()).map(({ kind }) => kind)).toEqual(['box_degraded'])
  await report({ services: services({ minio: service('exited'), postgres: service('exited') }) })
  await pass(120_000)
  expect((await open()).map(({ kind }) => kind)).toEqual(['box_down'])
})

test('no alert in maintenance, during a change, or for a box that another host may have', async () => {
  await report({ services: services({ synapse: service('exited') }) })
  await db
    .insertInto('box_holds')
    .values({ box_id: (await boxId()) as never, holder: 'rollout:ro_1', until: isoIn(room.clock, 300_000) })
    .execute()
  await pass(180_000)
  expect(await open()).toEqual([])
  await pass(180_000)
  expect((await open()).length).toBe(1)
  await report({ services: services({ synapse: service('exited') }), fenced: true, fence: { holder: 'maintenance', since: null } })
  await pass(180_000)
  expect(await open()).toEqual([])
})
const boxId = async () => (await db.selectFrom('boxes').select('id').executeTakeFirstOrThrow()).id

test('while the host is silent no alert is raised, and an open one stays', async () => {
  await report({ services: services({ synapse: service('exited') }) })
  await room.clock.advance(300_000)
  await roundsOf({ ...room, owner: 'one' }, healthWatch(room))()
  expect(await open()).toEqual([])
  expect(await counts()).toMatchObject({ down: 0, unknown: 1 })
  await pass(1_000)
  expect((await open()).length).toBe(1)
  await room.clock.advance(300_000)
  await roundsOf({ ...room, owner: 'one' }, healthWatch(room))()
  expect((await open()).length).toBe(1)
})

test('an agent that restarts has not checked yet: what it found before holds for three minutes', async () => {
  await report({ watch: failedCheck() })
  await room.clock.advance(60_000)
  await report()
  expect((await shown())[0]).toBe('down')
  await room.clock.advance(200_000)
  await heardOf(room)
  await report()
  expect((await shown())[0]).toBe('running')
})

test('two replicas raise one alert', async () => {
  await report({ services: services({ synapse: service('exited') }) })
  await room.clock.advance(120_000)
  await heardOf(room)
  await Promise.all(['one', 'two'].map((owner) => roundsOf({ ...room, owner }, healthWatch(room))()))
  expect(await open()).toEqual([{ kind: 'box_down', subject: 'linden', count: 1 }])
})

const restartingOften = () => ({ check: aProbe(isoNow(room.clock)), restarts: { synapse: 4 } })

/** Rounds of a chat server that ends again and again: what it is open for after each. */
async function crashLoop(rounds: number, { downMs, upMs }: Readonly<{ downMs: number; upMs: number }>): Promise<string[]> {
  const kinds: string[] = []
  const note = async () => kinds.push((await open()).map(({ kind }) => kind).join() || 'none')
  for (let round = 0; round < rounds; round++) {
    await report({ services: services({ synapse: service('exited') }) })
    await pass(downMs)
    await note()
    await report({ watch: restartingOften() })
    await pass(upMs)
    await note()
  }
  return kinds
}

test('a chat that is down and up again, never two minutes in one state, alerts once as degraded', async () => {
  expect(await crashLoop(3, { downMs: 60_000, upMs: 60_000 })).toEqual(['none', ...Array.from({ length: 5 }, () => 'box_degraded')])
  expect(await db.selectFrom('alerts').select('kind').execute()).toHaveLength(1)
})

test.each([
  ['down', 'box_degraded', { downMs: 20_000, upMs: 130_000 }, ['none', 'box_degraded', 'box_degraded', 'box_degraded']],
  ['up', 'box_down', { downMs: 130_000, upMs: 20_000 }, ['box_down', 'box_down', 'box_down', 'box_down']],
])('a moment %s does not replace the alert %s', async (_, __, times, expected) => {
  expect(await crashLoop(2, times)).toEqual(expected)
  expect(await db.selectFrom('alerts').select('kind').execute()).toHaveLength(1)
})
