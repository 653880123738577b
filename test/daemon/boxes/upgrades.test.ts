import { expect, test } from 'vitest'
import type { UpgradeRehearsal } from '../../../src/core/boxes/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'
import { rehearseUpgrade } from '../../../src/daemon/boxes/upgrades.ts'
import { eventsAfter } from '../../../src/daemon/db/index.ts'
import { anOperator, heardOf } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { snapshotsWorld } from '../../support/snapshots-world.ts'

const north = { params: { slug: 'north' } }
const image = 'registry.example/postgres:18.1'

const aRehearsal = (change: Partial<UpgradeRehearsal> = {}): UpgradeRehearsal => ({
  ...{ ok: true, way: 'dump-load', image, digest: null, from: '17.6', to: '18.1', databaseBytes: 1_000, dumpBytes: 100 },
  ...{ loadedBytes: 900, tables: 2, rows: 5, times: { copyMs: 9, dumpMs: 1, loadMs: 2, analyzeMs: 3, compareMs: 4 } },
  ...{ downtimeMs: 10, findings: [], durationMs: 50, error: null },
  ...change,
})

onBothDialects('rehearsed upgrades', (fresh) => {
  async function setUp() {
    const world = await snapshotsWorld(await fresh())
    await world.aBox('north')
    const shown = async () => (await world.api.showBox(north)).upgradeRehearsal
    const refused = (asked: Promise<unknown>) =>
      asked.then(
        () => 'done',
        (error) => (isProblem(error) ? `${error.code}: ${error.message}` : String(error)),
      )
    return { ...world, shown, refused }
  }

  test('the latest result of a box is stored and shown', async () => {
    const { api, answer, shown, db } = await setUp()
    expect(await shown()).toBeNull()
    const { commandId } = await api.rehearseUpgrade({ ...north, body: { to: image } })
    const { payload } = await answer('tenant-box.rehearse_upgrade', aRehearsal())
    expect(payload).toMatchObject({ slug: 'north', image })
    expect(await shown()).toMatchObject({ ...aRehearsal(), commandId, at: expect.any(String) })
    const findings = [{ severity: 'refuse' as const, code: 'LARGE_OBJECTS' as const, message: 'it has large objects' }]
    const second = await api.rehearseUpgrade({ ...north, body: { to: image } })
    await answer('tenant-box.rehearse_upgrade', aRehearsal({ ok: false, findings }))
    expect(await shown()).toMatchObject({ ok: false, findings, commandId: second.commandId })
    expect(await db.selectFrom('upgrade_rehearsals').select('ok').execute()).toEqual([{ ok: 0 }])
    const events = (await eventsAfter(db, { stream: 'admin', after: 0, limit: 100 })).filter(
      ({ eventType }) => eventType === 'box.upgrade_rehearsed',
    )
    expect(events.map(({ payload }) => (payload as { ok: boolean }).ok)).toEqual([true, false])
    expect(await db.selectFrom('audit').select(['action', 'subject']).where('action', '=', 'box.rehearse_upgrade').execute()).toHaveLength(
      2,
    )
  })

  test('one that could not run is the latest result too', async () => {
    const { api, fail, shown } = await setUp()
    await api.rehearseUpgrade({ ...north, body: { to: image } })
    await fail('DOCKER_UNAVAILABLE')
    expect(await shown()).toMatchObject({ ok: false, image, times: {}, error: { code: 'DOCKER_UNAVAILABLE' } })
  })

  test('the image is that of the manifest, of the present repository, or the named one', async () => {
    const { api, answer, refused } = await setUp()
    const imageOf = async (body: { to?: string }) => {
      const started = await api.rehearseUpgrade({ ...north, body })
      const { payload } = await answer('tenant-box.rehearse_upgrade', aRehearsal())
      expect(payload).toMatchObject({ image: started.image })
      return started.image
    }
    expect(await imageOf({})).toMatch(/postgres:/)
    expect(await imageOf({ to: '18' })).toMatch(/postgres:18$/)
    expect(await imageOf({ to: image })).toBe(image)
    expect(await refused(api.rehearseUpgrade({ ...north, body: { to: 'newest' } }))).toMatch(
      /^VALIDATION: .*an image with a tag, or a major/s,
    )
  })

  test('of some that are asked for at once, one is run', async () => {
    const { deps, room, refused, open } = await setUp()
    const all = [1, 2, 3, 4].map(() => refused(rehearseUpgrade({ ...room, ...deps }, anOperator, { slug: 'north', to: image })))
    expect((await Promise.all(all)).filter((outcome) => outcome === 'done')).toHaveLength(1)
    expect(await open()).toHaveLength(1)
  })

  test('is refused for a box that is observed or not there, for a second one, and while its host is offline', async () => {
    const { api, db, refused, answer, room, clock } = await setUp()
    const rehearse = (slug = 'north') => refused(api.rehearseUpgrade({ params: { slug }, body: { to: image } }))
    expect(await rehearse('south')).toMatch(/^NOT_FOUND/)
    expect(await rehearse()).toBe('done')
    expect(await rehearse()).toMatch(/^CONFLICT: an upgrade of north is being rehearsed\. fix: follow it: `tenantry boxes follow north/)
    await answer('tenant-box.rehearse_upgrade', aRehearsal())
    await db.updateTable('boxes').set({ managed: 0 }).execute()
    expect(await rehearse()).toMatch(/^BOX_NOT_MANAGED/)
    await db.updateTable('boxes').set({ managed: 1 }).execute()
    await clock.advance(60 * 60_000)
    expect(await rehearse()).toMatch(/^HOST_OFFLINE/)
    await heardOf(room, 'host-1')
    expect(await rehearse()).toBe('done')
  })
})
