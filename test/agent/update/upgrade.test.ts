import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { BoxServers } from '../../../src/agent/ports/index.ts'
import { formerDatabaseSweeper, sweepCopies, sweepDumpServers, type UpdateDeps, updateSteps } from '../../../src/agent/update/index.ts'
import { composeText, images } from '../simulated/boxes.ts'
import { aContext, aWorld, newSynapse, type Ports, wrapped } from './an-update.ts'
import { anUpgrade, expectRolledBack, expectUpgraded, formerVolume, newMajor, volumeOf } from './an-upgrade.ts'
import { mortalAtChange, storeWhileAlive } from './mortal.ts'

type World = Awaited<ReturnType<typeof aWorld>>

const withUpgrades =
  (change: (upgrades: BoxServers['upgrades']) => Partial<BoxServers['upgrades']>) =>
  (ports: Ports): Ports => ({
    ...ports,
    servers: { ...ports.servers, upgrades: { ...ports.servers.upgrades, ...change(ports.servers.upgrades) } },
  })

test('the new version runs on a volume of its own with all that users wrote, and the former one is kept as it was', async () => {
  const world = await aWorld()
  const result = await world.run(anUpgrade())
  expect(result).toMatchObject({
    ...{ outcome: 'committed', snapshotOk: true, error: null },
    downtime: { mode: 'until-stable', snapshot: 'hot', upgradeMs: expect.any(Number) },
    report: { installed: { postgres: '17.6' } },
  })
  await expectUpgraded(world)
})

test('users write until the fence is up, and all of it is loaded', async () => {
  const world = await aWorld()
  const fence: (typeof updateSteps)['fence'] = async (run) => {
    expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
    return updateSteps.fence(run)
  }
  expect(await world.run(anUpgrade(), { steps: { ...updateSteps, fence } })).toMatchObject({ outcome: 'committed' })
  expect(world.host.traffic.content(world.box).messages).toBe(4)
})

test('the chat server is updated together with it', async () => {
  const world = await aWorld()
  const result = await world.run(anUpgrade({ synapse: newSynapse }))
  expect(result).toMatchObject({ outcome: 'committed' })
  expect(await world.image('synapse')).toBe(newSynapse)
  await expectUpgraded(world, { synapse: newSynapse })
})

test('a chat server that fails its probes with it: the former version takes its own volume again', async () => {
  const world = await aWorld()
  world.inject({ kind: 'probe-fails', image: newSynapse })
  const result = await world.run(anUpgrade({ synapse: newSynapse }))
  expect(result).toMatchObject({ outcome: 'rolled_back', error: { code: 'PROBE_FAILED' }, restored: { from: 'former-volume' } })
  expect(world.counts.loadDatabase).toBeUndefined()
  await expectRolledBack(world)
})

test('a new version that does not start in the box: the former version takes its own volume again', async () => {
  const world = await aWorld()
  const rewrite: (typeof updateSteps)['rewrite'] = async (run) => {
    world.inject({ kind: 'dies-at-start', image: newMajor, times: 9 })
    return updateSteps.rewrite(run)
  }
  const result = await world.run(anUpgrade(), { steps: { ...updateSteps, rewrite } })
  expect(result).toMatchObject({ outcome: 'rolled_back', error: { code: 'BOX_UNHEALTHY' }, restored: { from: 'former-volume' } })
  await expectRolledBack(world)
})

test.each([
  ['a dump that fails', { kind: 'dump-fails', times: 1 }, /dump with the new PostgreSQL failed/],
  ['a load that fails', { kind: 'load-fails', times: 1 }, /load with the new PostgreSQL failed/],
  ['a full disk', { kind: 'disk-full', at: 'load', times: 1 }, /No disk space/],
  ['a new version that exits at its start', { kind: 'dies-at-start', image: newMajor, times: 9 }, /exited at its start/],
] as const)('%s: nothing of the box was touched', async (_, fault, message) => {
  const world = await aWorld()
  world.inject(fault)
  const result = await world.run(anUpgrade())
  expect(result).toMatchObject({ outcome: 'failed', error: { code: 'UPDATE_FAILED', message: expect.stringMatching(message) } })
  expect(result.error?.message).toMatch(/no data was touched/)
  await expectRolledBack(world)
})

test('a loaded database that differs is never used', async () => {
  const world = await aWorld()
  const deps = await world.agent(
    withUpgrades((upgrades) => ({
      content: async (server, box, signal) => {
        const found = await upgrades.content(server, box, signal)
        return server.project.name.endsWith('-next') ? { ...found, rows: { ...found.rows, events: 2 } } : found
      },
    })),
  )
  const result = await world.run(anUpgrade(), { deps })
  expect(result).toMatchObject({ outcome: 'failed', error: { message: expect.stringMatching(/rows of events: 2 instead of 3/) } })
  await expectRolledBack(world)
})

describe('refused before anything stops', () => {
  const refusedBy = async (world: World, payload = anUpgrade(), deps?: UpdateDeps) => {
    const result = await world.run(payload, deps ? { deps } : {})
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'PREFLIGHT_REFUSED' } })
    expect(world.counts.stop).toBeUndefined()
    expect(world.counts.beginBackup).toBeUndefined()
    await expectRolledBack(world)
    return result.error?.message
  }

  test('by what a rehearsal would refuse', async () => {
    const world = await aWorld()
    const deps = await world.agent(
      withUpgrades((upgrades) => ({ facts: async (...of) => ({ ...(await upgrades.facts(...of)), largeObjects: 2 }) })),
    )
    expect(await refusedBy(world, anUpgrade(), deps)).toMatch(/2 large objects/)
  })

  test('another major version without the order for an upgrade', async () => {
    expect(await refusedBy(await aWorld(), anUpgrade({ fence: { upgrade: undefined } }))).toMatch(/another major version than 15/)
  })

  test('an upgrade that would open the box before it is proven, or that has no copy', async () => {
    expect(await refusedBy(await aWorld(), anUpgrade({ fence: { mode: 'until-proven' } }))).toMatch(/maintenance until it is stable/)
    expect(await refusedBy(await aWorld(), anUpgrade({ fence: { snapshot: undefined } }))).toMatch(/needs a hot copy/)
  })

  test('images since PostgreSQL 18 where the compose file does not name the data folder', async () => {
    expect(await refusedBy(await aWorld(), anUpgrade({ postgres: newMajor.replace('17.6', '18.1') }))).toMatch(/set PGDATA of the service/)
  })
})

test('a copy that cannot be made ends it before anything stops', async () => {
  const world = await aWorld()
  const deps = await world.agent((ports) => ({
    ...ports,
    engine: { ...ports.engine, createVolume: async () => Promise.reject(new Error('the engine makes no volume')) },
  }))
  const result = await world.run(anUpgrade(), { deps })
  expect(result).toMatchObject({
    outcome: 'failed',
    error: { message: expect.stringMatching(/PostgreSQL of oak is not upgraded: no hot copy after .*makes no volume/) },
  })
  expect(world.counts.stop).toBeUndefined()
  await expectRolledBack(world)
})

describe.each(['an upgrade that proves healthy', 'an upgrade that fails its probes'] as const)('%s', (path) => {
  test.each(['before', 'after'] as const)(
    'killed at every single change of the host, %s its effect',
    async (when) => {
      for (let place = 1; ; place++) {
        const world = await aWorld()
        const order = path === 'an upgrade that proves healthy' ? anUpgrade() : anUpgrade({ synapse: newSynapse })
        if (path === 'an upgrade that fails its probes') world.inject({ kind: 'probe-fails', image: newSynapse })
        const life = mortalAtChange(place, when)
        const deps = await world.agent((ports) => wrapped(ports, life.touch), storeWhileAlive(world.fileStore, life))
        const first = await world.run(order, { deps, context: aContext({ signal: life.signal }) }).catch((error: Error) => error)
        if (!life.died()) {
          expect(place).toBeGreaterThan(30)
          return
        }
        const again = await world.agent()
        await sweepDumpServers(again)
        const { outcome } = first instanceof Error ? await world.run(order, { deps: again }) : first
        await sweepCopies(await world.agent())
        if (path === 'an upgrade that proves healthy') {
          expect(outcome).toBe('committed')
          await expectUpgraded(world)
        } else {
          expect(outcome).toBe('rolled_back')
          await expectRolledBack(world)
        }
      }
    },
    240_000,
  )
})

describe('the former volume', () => {
  const days = (count: number) => count * 86_400_000

  test('is removed after its days, and never one that the box runs on again', async () => {
    const world = await aWorld()
    await world.run(anUpgrade())
    const deps = await world.agent()
    await world.host.clock.advance(days(6))
    expect(await formerDatabaseSweeper(deps)()).toEqual([])
    expect(world.host.volumeNames()).toContain(formerVolume)
    await world.host.clock.advance(days(2))
    const upgraded = await world.compose()
    await world.edit(() => composeText('oak'))
    expect(await formerDatabaseSweeper(deps)()).toEqual([])
    await world.edit(() => upgraded)
    expect(await formerDatabaseSweeper(deps)()).toEqual([formerVolume])
    expect(world.host.volumeNames()).toHaveLength(3)
    expect(await formerDatabaseSweeper(deps)()).toEqual([])
    expect(world.host.traffic.content(world.box).messages).toBe(3)
  })

  test('is never removed while a command runs, and looked for once an hour', async () => {
    const world = await aWorld()
    await world.run(anUpgrade())
    const deps = await world.agent()
    await world.host.clock.advance(days(8))
    let open: readonly unknown[] = ['a command']
    const sweep = formerDatabaseSweeper({ ...deps, journal: { open: async () => open as never } })
    expect(await sweep()).toEqual([])
    open = []
    expect(await sweep()).toEqual([formerVolume])
    await world.host.engine.createVolume(world.box.project, 'postgres', formerVolume)
    expect(await sweep()).toEqual([])
    await world.host.clock.advance(3_600_000)
    expect(await sweep()).toEqual([formerVolume])
  })

  test('is complete: the former version starts on it with all messages', async () => {
    const world = await aWorld()
    await world.run(anUpgrade())
    await world.host.engine.stop(world.box.project, ['synapse', 'postgres'])
    await world.edit(() => composeText('oak'))
    await world.host.engine.up(world.box.project, ['postgres', 'synapse'])
    expect(await world.image('postgres')).toBe(images.postgres)
    expect(world.host.traffic.content(world.box).messages).toBe(3)
    const folder = join(await volumeOf(world, formerVolume), 'PG_VERSION')
    expect(await readFile(folder, 'utf8')).toBe('15\n')
  })

  test('a second update keeps the record, and takes the loaded volume for its own', async () => {
    const world = await aWorld()
    await world.run(anUpgrade())
    const later = await world.run(anUpgrade({ postgres: newMajor.replace('17.6', '17.7'), fence: { upgrade: undefined } }), {
      context: aContext({ commandId: 'ro_2.box_oak.1.update' }),
    })
    expect(later).toMatchObject({ outcome: 'committed' })
    expect((await world.boxes.find('oak'))?.formerDatabases).toMatchObject([{ volume: formerVolume, version: '15.14' }])
  })
})
