import { expect, test } from 'vitest'
import type { HostId, VersionsReport } from '../../../src/core/boxes/index.ts'
import { isoNow } from '../../../src/core/kit/index.ts'
import { applyReports } from '../../../src/daemon/boxes/index.ts'
import { namedSeries } from '../../../src/daemon/service/index.ts'
import { aReport } from '../../support/boxes.ts'
import { aBoxesWorld, aHost, aLiveBox, type BoxesWorld, heardOf } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const hourMs = 3_600_000

async function scrape(world: BoxesWorld, maxBoxes = 100): Promise<string> {
  const parts: string[] = []
  for await (const part of namedSeries({ ...world, maxBoxes })) parts.push(part)
  return parts.join('')
}

/** The samples of a metric: labels to value. */
const samplesOf = (text: string, name: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .map((line) => [line.slice(name.length, line.lastIndexOf(' ')).replace(/^\{|\}$/g, ''), line.slice(line.lastIndexOf(' ') + 1)]),
  )
const currentOf = (text: string, name: string): string[] =>
  Object.entries(samplesOf(text, name)).flatMap(([labels, value]) => (value === '1' ? [labels] : []))

const facts = { mediaBytes: 5000, objectBytes: 7000 } as VersionsReport['facts']
const service = (state: 'running' | 'exited', restartCount: number) => ({ image: 'a:1', digest: null, state, restartCount })
const allRun = {
  edge: service('running', 0),
  synapse: service('running', 2),
  postgres: service('running', 0),
  minio: service('running', 0),
}

/** Stores what an agent reported of a box. */
const reported = ({ db, clock }: BoxesWorld, slug: string, change: Partial<VersionsReport>) =>
  db.transaction().execute((tx) => applyReports({ tx, clock }, 'hst_host-1' as HostId, [aReport(slug, { at: isoNow(clock), ...change })]))

onBothDialects('metrics of boxes and hosts', (fresh) => {
  test('have the values of the last report of a box', async () => {
    const world = await aBoxesWorld(await fresh())
    await aLiveBox(world, 'linden', { plan: 'pro' })
    await reported(world, 'linden', { services: allRun, facts })
    await world.db.updateTable('boxes').set({ database_bytes: 3_000_000_000 }).execute()
    await world.clock.advance(hourMs)
    await heardOf(world)
    const text = await scrape(world)
    expect(currentOf(text, 'tenantry_box_info')).toEqual([
      'box="linden",host="host-1",tier="pro",synapse="1.157.1",postgres="17.6",minio="RELEASE.2025-09-07T16-13-09Z"',
    ])
    expect(samplesOf(text, 'tenantry_box_up')).toEqual({ 'box="linden"': '1' })
    expect(currentOf(text, 'tenantry_box_state')).toEqual(['box="linden",state="running"'])
    expect(Object.keys(samplesOf(text, 'tenantry_box_state'))).toHaveLength(5)
    expect(currentOf(text, 'tenantry_box_drift')).toEqual(['box="linden",severity="none"'])
    expect(samplesOf(text, 'tenantry_box_report_age_seconds')).toEqual({ 'box="linden"': '3600' })
    expect(samplesOf(text, 'tenantry_box_probe_age_seconds')).toEqual({ 'box="linden"': '3600' })
    expect(samplesOf(text, 'tenantry_box_probe_success')).toMatchObject({ 'box="linden",component="chatSync"': '1' })
    expect(samplesOf(text, 'tenantry_box_probe_duration_seconds')).toMatchObject({ 'box="linden",component="database"': '0.005' })
    expect(samplesOf(text, 'tenantry_box_database_bytes')).toEqual({ 'box="linden"': '3000000000' })
    expect(samplesOf(text, 'tenantry_box_media_bytes')).toEqual({ 'box="linden"': '5000' })
    expect(samplesOf(text, 'tenantry_box_object_bytes')).toEqual({ 'box="linden"': '7000' })
    expect(samplesOf(text, 'tenantry_box_container_restarts_total')).toMatchObject({ 'box="linden",service="synapse"': '2' })
    expect(samplesOf(text, 'tenantry_boxes_omitted')).toEqual({ '': '0' })
  })

  test('have the state of each box in the words of its health', async () => {
    const world = await aBoxesWorld(await fresh())
    for (const slug of ['ahorn', 'birke', 'eiche', 'fichte']) await aLiveBox(world, slug)
    await reported(world, 'ahorn', { services: { ...allRun, synapse: service('exited', 9) } })
    await reported(world, 'birke', { services: { ...allRun, minio: service('exited', 0) } })
    await reported(world, 'eiche', { services: allRun })
    await reported(world, 'fichte', { services: allRun })
    await world.db
      .updateTable('boxes')
      .set({ maintenance_since: isoNow(world.clock), maintenance_by: 'anna' })
      .where('slug', '=', 'eiche')
      .execute()
    const states = async () => currentOf(await scrape(world), 'tenantry_box_state')
    const expected = ['ahorn",state="down', 'birke",state="degraded', 'eiche",state="maintenance', 'fichte",state="running']
    expect(await states()).toEqual(expected.map((labels) => `box="${labels}"`))
    expect(Object.values(samplesOf(await scrape(world), 'tenantry_box_up'))).toEqual(['0', '1', '0', '1'])
    await world.clock.advance(hourMs)
    expect(await states()).toEqual(['ahorn', 'birke', 'eiche', 'fichte'].map((slug) => `box="${slug}",state="unknown"`))
    expect(currentOf(await scrape(world), 'tenantry_box_drift')).toContain('box="fichte",severity="unknown"')
  })

  test('have no box that is removed or not set up yet', async () => {
    const world = await aBoxesWorld(await fresh())
    for (const slug of ['ahorn', 'birke', 'eiche']) await aLiveBox(world, slug)
    await world.db.updateTable('boxes').set({ live: 0, removal: 'removed' }).where('slug', '=', 'ahorn').execute()
    await world.db.updateTable('boxes').set({ live: 0 }).where('slug', '=', 'birke').execute()
    const text = await scrape(world)
    expect(Object.keys(samplesOf(text, 'tenantry_box_up'))).toEqual(['box="eiche"'])
    expect(text).not.toMatch(/ahorn|birke/)
    expect(samplesOf(text, 'tenantry_host_boxes')).toEqual({ 'host="host-1"': '1' })
  })

  test('have at most `maxBoxes` boxes, and the number of the others', async () => {
    const world = await aBoxesWorld(await fresh())
    for (const slug of ['ahorn', 'birke', 'eiche']) await aLiveBox(world, slug)
    const two = await scrape(world, 2)
    expect(Object.keys(samplesOf(two, 'tenantry_box_up'))).toEqual(['box="ahorn"', 'box="birke"'])
    expect(samplesOf(two, 'tenantry_boxes_omitted')).toEqual({ '': '1' })
    const none = await scrape(world, 0)
    expect(none).not.toContain('tenantry_box_up{')
    expect(samplesOf(none, 'tenantry_boxes_omitted')).toEqual({ '': '3' })
    expect(samplesOf(none, 'tenantry_host_up')).toEqual({ 'host="host-1"': '1' })
  })

  test('have the age of the newest snapshot of a managed box', async () => {
    const world = await aBoxesWorld(await fresh())
    const { db, clock } = world
    const { id, tenantId } = await aLiveBox(world, 'linden')
    await aLiveBox(world, 'ahorn')
    const at = isoNow(clock)
    const taken = { tier: 'daily', taken_at: at, recorded_at: at, sha256: 'a', status: 'present' } as const
    await clock.advance(2 * hourMs)
    const none = { command_id: null, added_bytes: null, files: null, duration_ms: null, installed: null, damaged_by: null }
    await db
      .insertInto('snapshots')
      .values({ ...taken, ...none, tenant_id: tenantId, box_id: id, slug: 'linden', snapshot_id: 's1' })
      .execute()
    await db.updateTable('boxes').set({ created_at: '2026-01-01T00:00:00.000Z' }).execute()
    const sinceCreated = (clock.now().getTime() - Date.parse('2026-01-01T00:00:00.000Z')) / 1000
    const ages = async () => samplesOf(await scrape(world), 'tenantry_box_snapshot_age_seconds')
    expect(await ages()).toEqual({ 'box="ahorn"': String(sinceCreated), 'box="linden"': '7200' })
    await db.updateTable('boxes').set({ managed: 0 }).where('slug', '=', 'linden').execute()
    expect(Object.keys(await ages())).toEqual(['box="ahorn"'])
  })

  test('have what the agent of a host reported, and no revoked host', async () => {
    const world = await aBoxesWorld(await fresh())
    await aHost(world, 'gone', { status: 'revoked' })
    await aHost(world, 'twice', { status: 'frozen' })
    const resources = { cpus: 8, load: [1.5, 1, 0.5], memoryBytes: 32e9, memoryAvailableBytes: 20e9, diskBytes: 500e9, freeDiskBytes: 90e9 }
    const engine = { engine: '29.1', compose: '2.40', restic: null }
    await world.db
      .updateTable('hosts')
      .set({ resources: JSON.stringify(resources), engine: JSON.stringify(engine), agent_version: '0.1.0', clock_offset_ms: -1500 })
      .where('name', '=', 'host-1')
      .execute()
    await aLiveBox(world, 'linden')
    const text = await scrape(world)
    expect(text).not.toContain('gone')
    expect(currentOf(text, 'tenantry_host_state')).toEqual(['host="host-1",state="online"', 'host="twice",state="frozen"'])
    expect(currentOf(text, 'tenantry_host_info')[0]).toBe('host="host-1",agent_version="0.1.0",engine="29.1",compose="2.40",restic=""')
    const of = (name: string) => samplesOf(text, `tenantry_host_${name}`)['host="host-1"']
    expect([of('up'), of('boxes'), of('cpus'), of('load1'), of('load15')]).toEqual(['1', '1', '8', '1.5', '0.5'])
    expect([of('disk_bytes'), of('disk_free_bytes')]).toEqual(['500000000000', '90000000000'])
    expect([of('memory_bytes'), of('memory_available_bytes')]).toEqual(['32000000000', '20000000000'])
    expect([of('clock_offset_seconds'), of('last_seen_age_seconds')]).toEqual(['-1.5', '0'])
    await world.clock.advance(hourMs)
    expect(currentOf(await scrape(world), 'tenantry_host_state')[0]).toBe('host="host-1",state="offline"')
    expect(samplesOf(await scrape(world), 'tenantry_host_last_seen_age_seconds')['host="host-1"']).toBe('3600')
  })

  test('escape and cut what an agent reports', async () => {
    const world = await aBoxesWorld(await fresh())
    await aLiveBox(world, 'linden')
    await world.db
      .updateTable('boxes')
      .set({ installed_synapse: '1"\\\n\r\u007f', installed_minio: 'x'.repeat(5000) })
      .execute()
    const [info = ''] = currentOf(await scrape(world), 'tenantry_box_info')
    expect(info).toContain('synapse="1\\"\\\\   "')
    expect(info).toMatch(/minio="x{100}"$/)
  })
})
