import { describe, expect, test } from 'vitest'
import { prefetch } from '../../../src/agent/update/index.ts'
import { type BoxMigration, readBoxMigrations } from '../../../src/core/boxes/index.ts'
import { moving } from '../simulated/boxes.ts'
import { aContext, aPayload, aWorld, newSynapse, type Ports, withoutDaemon, wrapped } from './an-update.ts'
import { mortal, storeWhileAlive } from './mortal.ts'

type World = Awaited<ReturnType<typeof aWorld>>

const migrations = readBoxMigrations(
  ['0001-marks.sql', '0002-notes.sql', '0003-more.sql'].map((file) => ({
    file,
    text: `create table tenantry.t${file[3]} (id integer);\n`,
  })),
)
const [first] = migrations as [BoxMigration, ...BoxMigration[]]
const withMigrations = { migrations: async () => migrations }
const to = (migrationsHead: string) => aPayload({ targets: { ...aPayload().targets, migrationsHead } })
const headsOf = async ({ host, box }: World) => (await host.servers.databaseFacts(box))?.migrations.map(({ head }) => head)
const already = async (world: World, ...before: readonly BoxMigration[]) => {
  for (const migration of before) await world.host.servers.applyMigration(world.box, migration)
}
const run = (world: World, head: string, change = {}) => world.run(to(head), { context: aContext({ ...withMigrations, ...change }) })

describe('an update to another head', () => {
  test('applies missing migrations, and the report reads them from the database', async () => {
    const world = await aWorld()
    await already(world, first)
    const result = await run(world, '0003')
    expect(result).toMatchObject({ outcome: 'committed', report: { installed: { migrationsHead: '0003', synapse: '1.163.2' } } })
    expect(await headsOf(world)).toEqual(['0001', '0002', '0003'])
    expect(world.counts.applyMigration).toBe(2)
    expect((await world.boxes.find('oak'))?.migrationsHead).toBe('0003')
  })

  test('is reported as committed, although the box record must wait for disk space', async () => {
    const world = await aWorld()
    const deps = await world.agent()
    let refusals = 0
    const put: typeof deps.boxes.put = async (box) => {
      if (refusals++ < 3) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      return deps.boxes.put(box)
    }
    const given = { deps: { ...deps, boxes: { ...deps.boxes, put } }, context: aContext(withMigrations) }
    expect(await world.run(to('0003'), given)).toMatchObject({ outcome: 'committed', error: null })
    expect(refusals).toBe(4)
    expect((await world.boxes.find('oak'))?.migrationsHead).toBe('0003')
  })

  test('is reported by its deadline, although the box record can never be written', async () => {
    const world = await aWorld()
    const deps = await world.agent()
    const put = () => Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
    const given = { deps: { ...deps, boxes: { ...deps.boxes, put } }, context: aContext(withMigrations) }
    const result = await world.run({ ...to('0003'), deadlineMs: 10 * 3_600_000 }, given)
    expect(result).toMatchObject({ outcome: 'committed', error: null, report: { installed: { migrationsHead: '0003' } } })
  })

  test('may change nothing else', async () => {
    const world = await aWorld()
    const payload = aPayload({ targets: { services: {}, migrationsHead: '0001' } })
    const result = await world.run(payload, { context: aContext(withMigrations) })
    expect(result).toMatchObject({
      outcome: 'committed',
      snapshotOk: true,
      report: { installed: { migrationsHead: '0001', synapse: '1.157.1' } },
    })
  })

  test('needs the daemon for them only before the fence', async () => {
    const world = await aWorld()
    const away = { migrations: async () => ((await world.fence()) === undefined ? migrations : withoutDaemon()) }
    expect((await run(world, '0003', away)).outcome).toBe('committed')
  })

  test('does not ask the daemon when the box is at the head already', async () => {
    const world = await aWorld()
    await already(world, first)
    expect((await run(world, '0001', { migrations: withoutDaemon })).outcome).toBe('committed')
  })

  test('one that fails rolls the update back, with every message and the former head', async () => {
    const world = await aWorld()
    await already(world, first)
    world.inject({ kind: 'migration-fails' })
    const result = await run(world, '0003')
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      error: { code: 'UPDATE_FAILED', message: expect.stringContaining('Box migration 0002-notes failed in oak: ERROR:') },
      report: { installed: { migrationsHead: '0001' } },
    })
    expect(await headsOf(world)).toEqual(['0001'])
    expect(world.host.traffic.content(world.box).messages).toBe(3)
    expect((await world.boxes.find('oak'))?.migrationsHead).toBe('0000')
  })

  test('whose probes fail brings the former head back with the data', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    expect((await run(world, '0002')).outcome).toBe('rolled_back')
    expect(await headsOf(world)).toEqual([])
  })
})

describe('refused before any outage:', () => {
  const changed = migrations.map((migration) => ({ ...migration, sha256: 'f'.repeat(64) }))
  test.each<[string, string, object, RegExp]>([
    [
      'a migration whose text was changed after it was applied',
      '0002',
      { migrations: async () => changed },
      /0001-marks was applied with other SQL/,
    ],
    ['an older head', '0000', {}, /at migrations head 0001, and 0000 is older/],
    ['a head that the daemon does not know', '0009', {}, /box migration 0009 does not exist \(newest: 0003\)/],
    ['one that is not available', '0002', { migrations: withoutDaemon }, /does not answer/],
  ])('%s', async (_, head, change, message) => {
    const world = await aWorld()
    await already(world, first)
    const result = await run(world, head, change)
    expect(result).toMatchObject({ outcome: 'failed', fencedMs: 0, error: { message: expect.stringMatching(message) } })
    expect(world.counts.stop ?? 0).toBe(0)
    expect(await headsOf(world)).toEqual(['0001'])
  })

  test('a prefetch says so too', async () => {
    const world = await aWorld()
    await already(world, first)
    const deps = await world.agent()
    const { slug, boxId, ownershipEpoch, targets } = to('0000')
    const asked = () => prefetch(deps)(aContext({ ...withMigrations, commandId: 'p' }), { slug, boxId, ownershipEpoch, targets })
    await expect(moving(world.host.clock, asked)).rejects.toMatchObject({ code: 'PREFLIGHT_REFUSED' })
    expect(world.counts.pull ?? 0).toBe(0)
  })
})

describe('an agent killed while it applies them', () => {
  const places = [1, 2, 3].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const])
  test.each(places.flatMap(([nth, when]) => [[nth, when, 'commits'] as const, [nth, when, 'rolls back'] as const]))(
    'at number %i, %s it is applied, goes on and %s',
    async (nth, when, end) => {
      const world = await aWorld()
      if (end === 'rolls back') world.inject({ kind: 'probe-fails', image: newSynapse })
      let applied = 0
      const life = mortal((_, name) => name === 'applyMigration' && ++applied === nth, when)
      const deps = await world.agent((ports: Ports) => wrapped(ports, life.touch), storeWhileAlive(world.fileStore, life))
      const context = aContext({ ...withMigrations, signal: life.signal })
      await expect(world.run(to('0003'), { deps, context })).rejects.toThrow(/killed|dead/)
      const result = await run(world, '0003', { migrations: withoutDaemon })
      expect(result.outcome).toBe(end === 'commits' ? 'committed' : 'rolled_back')
      expect(await headsOf(world)).toEqual(end === 'commits' ? ['0001', '0002', '0003'] : [])
      expect(world.host.traffic.content(world.box).messages).toBe(3)
    },
  )
})
