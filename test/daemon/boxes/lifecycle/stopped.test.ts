import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { Severity } from '../../../../src/core/boxes/index.ts'
import { isoNow } from '../../../../src/core/kit/index.ts'
import { detectDrift } from '../../../../src/daemon/boxes/index.ts'
import { fleetMetrics } from '../../../../src/daemon/service/index.ts'
import { aReport } from '../../../support/boxes.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { type LifeWorld, lifeWorld } from '../../../support/life-world.ts'

// A box that no host runs is never in sync, however recent its last report.

const north = { params: { slug: 'north' } }

const listed = async (world: LifeWorld, severity?: Severity) => {
  const { boxes } = await (await world.api()).listBoxes({ query: severity === undefined ? {} : { severity } })
  return boxes.map((box) => `${box.slug} ${box.severity} ${box.freshness}`)
}

async function metricsOf({ db, clock }: LifeWorld): Promise<string> {
  const registry = new Registry()
  fleetMetrics({ db, clock, registry, offlineAfterMs: 90_000 })
  return registry.metrics()
}

onBothDialects('a stopped box', (fresh) => {
  test('because it was removed is shown at once in lists, drift and metrics, whatever its host reports', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await world.aBox('south')
    await (await world.api()).removeBox({ ...north, body: { confirm: 'north', reason: 'the school has left' } })
    expect(await listed(world, 'none')).toEqual(['north none fresh', 'south none fresh'])
    await world.answer('host-1', 'tenant-box.hand_over')
    for (const said of [[], [aReport('north', { at: isoNow(world.clock), fenced: true, handedOver: true })]]) {
      await world.report('host-1', said)
      expect(await listed(world)).toEqual(['north unknown stopped', 'south none fresh'])
      expect(await listed(world, 'none')).toEqual(['south none fresh'])
      expect(await listed(world, 'unknown')).toEqual(['north unknown stopped'])
    }
    expect(await (await world.api()).showBox(north)).toMatchObject({ status: 'removed', freshness: 'stopped', severity: 'unknown' })
    expect((await world.box(id)).reportedAt).toBe(isoNow(world.clock))
    expect(await detectDrift(world.room)).toBe('1 box checked: 1 in sync')
    const told = await metricsOf(world)
    expect(told).toContain('tenantry_boxes{severity="none"} 1')
    expect(told).toContain('tenantry_box_removals{state="kept"} 1')
  })

  test('between two hosts is shown as stopped until one of them runs it', async () => {
    const world = await lifeWorld(await fresh())
    const api = await world.api()
    await world.aBox('north')
    await api.moveBox({ ...north, body: { to: 'host-2', reason: 'host-1 is full' } })
    const known = async () => [...(await listed(world)), await detectDrift(world.room), (await listed(world, 'none')).length]
    const inSync = ['north none fresh', '1 box checked: 1 in sync', 1]
    const nothing = ['north unknown stopped', '1 box checked: 1 unknown', 0]
    expect(await known()).toEqual(inSync)
    await world.answer('host-1', 'tenant-box.hand_over')
    expect(await known()).toEqual(nothing)
    await world.fail('host-2')
    await world.fail('host-1', 'PROBE_FAILED')
    expect([(await api.showBox(north)).move?.state, ...(await known())]).toEqual(['stranded', ...nothing])
    expect(await metricsOf(world)).toContain('tenantry_boxes{severity="unknown"} 1')
    await api.giveBackBox({ ...north, body: {} })
    await world.answer('host-1', 'tenant-box.take_back')
    expect(await known()).toEqual(inSync)
  })
})
