import { expect, test } from 'vitest'
import type { UpgradeRehearsal } from '../../../src/core/boxes/index.ts'
import { applyManifest } from '../../../src/daemon/boxes/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { planStaged } from '../../../src/daemon/rollouts/testing.ts'
import { aManifest } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { digestOf, type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

// A rollout to another major version of PostgreSQL.

const image = 'registry.example/postgres:18.1'

const rehearsed = (change: Partial<UpgradeRehearsal> = {}): UpgradeRehearsal => ({
  ...{
    ok: true,
    way: 'dump-load',
    image,
    digest: digestOf(image),
    from: '17.6',
    to: '18.1',
    databaseBytes: 1,
    dumpBytes: 1,
    loadedBytes: 1,
  },
  ...{ tables: 1, rows: 1, times: {}, downtimeMs: 30_000, findings: [], durationMs: 60_000, error: null },
  ...change,
})

const dayMs = 86_400_000
const storeRehearsal = (db: Db, world: RolloutWorld, result: UpgradeRehearsal, ageMs = dayMs) => {
  const at = new Date(world.clock.now().getTime() - ageMs).toISOString()
  const row = { command_id: 'cmd_1', at, ok: result.ok ? 1 : 0, result: JSON.stringify(result) }
  return db
    .insertInto('upgrade_rehearsals')
    .values({ box_id: 'box_acme', tenant_id: 'ten_acme', ...row })
    .onConflict((conflict) => conflict.column('box_id').doUpdateSet(row))
    .execute()
}

async function aWorld(db: Db) {
  const world = await rolloutWorld(db, [{ slug: 'acme', canary: true }])
  world.said.set('acme', { facts: { ...world.reportOf('acme').facts, formerDatabases: [] } as never })
  await db
    .updateTable('boxes')
    .set({ last_report: JSON.stringify(world.reportOf('acme')) })
    .execute()
  await applyManifest(world.deps, anOperator, aManifest({ postgres: '18.1' }))
  return world
}

/** What is ordered once the box was observed and its images were pulled. */
async function orderedUpdate(world: RolloutWorld) {
  for (const _ of ['observe', 'prefetch']) {
    await world.tick()
    const [command] = await world.open()
    if (command) await world.work(command)
  }
  await world.tick()
  return (await world.open()).find(({ kind }) => kind === 'tenant-box.update')
}

onBothDialects('a rollout to another major version of PostgreSQL', (fresh) => {
  test('is blocked without a rehearsal, with the command for one', async () => {
    const world = await aWorld(await fresh())
    const { plan } = await planStaged(world.deps, { allowLongFence: false })
    expect(plan.boxes[0]).toMatchObject({ does: 'refuse', findings: [{ code: 'POSTGRES_MAJOR' }] })
    expect(plan.boxes[0]?.findings[0]?.message).toContain(`\`tenantry boxes rehearse-upgrade acme --to ${image}\``)
  })

  test('orders the upgrade with the days for which the former volume is kept', async () => {
    const db = await fresh()
    const world = await aWorld(db)
    await storeRehearsal(db, world, rehearsed())
    await world.started({ fenceMode: 'until-proven' })
    expect((await orderedUpdate(world))?.payload).toMatchObject({
      targets: { services: { postgres: { image, digest: digestOf(image) } } },
      fence: { mode: 'until-stable', snapshot: 'hot', copyBytesPerSecond: 64e6, upgrade: { way: 'dump-load', keepFormerDays: 7 } },
    })
  })

  test('an update within the major version orders no upgrade', async () => {
    const world = await aWorld(await fresh())
    await applyManifest(world.deps, anOperator, aManifest({ postgres: '17.7' }))
    await world.started()
    const { fence } = (await orderedUpdate(world))?.payload as { fence: object }
    expect(fence).not.toHaveProperty('upgrade')
    expect(fence).not.toHaveProperty('way')
  })

  test('is refused before the pull where the rehearsal has become too old since the plan', async () => {
    const db = await fresh()
    const world = await aWorld(db)
    await storeRehearsal(db, world, rehearsed())
    const id = await world.started()
    await storeRehearsal(db, world, rehearsed(), 15 * dayMs)
    expect(await orderedUpdate(world)).toBeUndefined()
    await world.settle()
    const { actions } = await world.show(id)
    expect(actions).toMatchObject([
      { status: 'failed', error: { code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(/older than 14 days/) } },
    ])
  })

  test('is refused before anything stops where another digest was rehearsed than was pulled', async () => {
    const db = await fresh()
    const world = await aWorld(db)
    await storeRehearsal(db, world, rehearsed({ digest: `sha256:${'1'.repeat(64)}` }))
    const id = await world.started()
    expect(await orderedUpdate(world)).toBeUndefined()
    await world.settle()
    const { actions } = await world.show(id)
    expect(actions).toMatchObject([
      { status: 'failed', error: { code: 'DIGEST_MISMATCH', message: expect.stringMatching(/rehearsal of acme was of sha256:1+/) } },
    ])
  })
})
