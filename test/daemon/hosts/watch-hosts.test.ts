import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Db } from '../../../src/daemon/db/index.ts'
import { hostWatch } from '../../../src/daemon/hosts/index.ts'
import { aBoxesWorld, aHost, type BoxesWorld, heardOf } from '../../support/boxes-world.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { roundsOf } from '../../support/loops.ts'

let db: Db
let room: BoxesWorld
let look: () => Promise<void>
beforeEach(async () => {
  db = (await emptyDatabase('sqlite')).db
  room = await aBoxesWorld(db)
  look = roundsOf({ ...room, owner: 'one' }, hostWatch(room))
})
afterEach(() => db.destroy())

const gib = 1024 ** 3
const set = (values: Readonly<{ resources?: string; clock_offset_ms?: number; status?: 'revoked' }>) =>
  db.updateTable('hosts').set(values).where('name', '=', 'host-1').execute()
const resources = (freeGib: number) =>
  JSON.stringify({ cpus: 2, memoryBytes: 4 * gib, diskBytes: 100 * gib, freeDiskBytes: freeGib * gib, boxes: 3 })

const open = async () =>
  (await db.selectFrom('alerts').select(['kind', 'subject']).where('open_key', 'is not', null).orderBy('id').execute()).map(
    ({ kind, subject }) => `${kind} ${subject}`,
  )

/** The agents of these hosts are heard all the time. */
async function pass(minutes: number, heard: readonly string[] = ['host-1']): Promise<void> {
  for (let round = 0; round < minutes * 6; round++) {
    await room.clock.advance(10_000)
    for (const name of heard) await heardOf(room, name)
    await look()
  }
}

test('a silent host alerts after two minutes, once, and closes when it is back', async () => {
  await aHost(room, 'host-2')
  await look()
  await pass(2)
  expect(await open()).toEqual([])
  await pass(1)
  expect(await open()).toEqual(['host_offline host-2'])
  await pass(3)
  expect(await open()).toEqual(['host_offline host-2'])
  await pass(1, ['host-1', 'host-2'])
  expect(await open()).toEqual([])
})

test('after its own downtime the daemon listens for two minutes first', async () => {
  await room.clock.advance(3_600_000)
  await look()
  await pass(1, [])
  expect(await open()).toEqual([])
  await pass(1, [])
  expect(await open()).toEqual(['host_offline host-1'])
  look = roundsOf({ ...room, owner: 'two' }, hostWatch(room))
  await room.clock.advance(3_600_000)
  await look()
  expect(await open()).toEqual(['host_offline host-1'])
})

test('a host that was revoked, or never heard, is not silent', async () => {
  await look()
  await db.updateTable('hosts').set({ last_seen_at: null }).execute()
  await pass(5, [])
  await heardOf(room)
  await pass(4, [])
  expect(await open()).toEqual(['host_offline host-1'])
  await set({ status: 'revoked' })
  await look()
  expect(await open()).toEqual([])
})

test('a disk with less than a tenth free alerts until 12 % are free', async () => {
  await set({ resources: resources(9) })
  await look()
  expect(await open()).toEqual(['disk_low host-1'])
  await set({ resources: resources(11) })
  await pass(1)
  expect(await open()).toEqual(['disk_low host-1'])
  await set({ resources: resources(12) })
  await pass(1)
  expect(await open()).toEqual([])
})

test('a disk with 2 % left is critical, and stays so up to 3 %', async () => {
  const severities = async () =>
    (await db.selectFrom('alerts').select('severity').where('status', '=', 'open').execute()).map(({ severity }) => severity)
  for (const [percent, expected] of [
    [5, 'warning'],
    [1.9, 'critical'],
    [2.5, 'critical'],
    [3, 'warning'],
  ] as const) {
    await set({ resources: resources(percent) })
    await pass(1)
    expect([percent, await severities()]).toEqual([percent, [expected]])
  }
})

test('a disk that is full within two days alerts with the day', async () => {
  await set({ resources: resources(60) })
  await look()
  await room.clock.advance(12 * 3_600_000)
  await set({ resources: resources(45) })
  await pass(1)
  expect(await open()).toEqual(['disk_low host-1'])
  const { body } = await db.selectFrom('alerts').select('body').executeTakeFirstOrThrow()
  expect(body).toContain('the disk is full on 2026-01-07')
})

test('a clock that is off by more than 30 s alerts, in words of its direction', async () => {
  await set({ clock_offset_ms: -31_000 })
  await look()
  const { title } = await db.selectFrom('alerts').select('title').executeTakeFirstOrThrow()
  expect(title).toBe('The clock of host host-1 is 31 s behind')
  await set({ clock_offset_ms: -29_000 })
  await pass(1)
  expect(await open()).toEqual([])
})

test('of a silent host the other alerts stay', async () => {
  await set({ clock_offset_ms: 31_000, resources: resources(5) })
  await look()
  await pass(4, [])
  expect(await open()).toEqual(['clock_skew host-1', 'disk_low host-1', 'host_offline host-1'])
})

test('a host whose agent is heard and has not checked its boxes for ten minutes alerts, by the clock of the host', async () => {
  const looked = (field: 'checkedAt' | 'uncheckedSince', agoMinutes: number, offsetMs = 0) => {
    const at = new Date(room.clock.now().getTime() + offsetMs - agoMinutes * 60_000).toISOString()
    return set({ resources: JSON.stringify({ ...JSON.parse(resources(50)), [field]: at }), clock_offset_ms: offsetMs })
  }
  const checked = (agoMinutes: number, offsetMs = 0) => looked('checkedAt', agoMinutes, offsetMs)
  await looked('uncheckedSince', 10.1)
  await look()
  expect(await open()).toEqual(['boxes_unchecked host-1'])
  await checked(9.9, -20_000)
  await look()
  expect(await open()).toEqual([])
  await checked(10.1, 20_000)
  await look()
  expect(await open()).toEqual(['boxes_unchecked host-1'])
  await pass(4, [])
  expect(await open()).toEqual(['boxes_unchecked host-1', 'host_offline host-1'])
  await checked(1)
  await pass(1)
  expect(await open()).toEqual([])
})
