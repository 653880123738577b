import { expect, test } from 'vitest'
import { applyManifest } from '../../../src/daemon/boxes/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { planStaged } from '../../../src/daemon/rollouts/testing.ts'
import { aManifest } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { digestOf, type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'
import { aRehearsal, nextPostgres, storeRehearsal, wantNextPostgres } from '../../support/upgrade-rehearsals.ts'

// A rollout to another major version of PostgreSQL.

async function aWorld(db: Db) {
  const world = await rolloutWorld(db, [{ slug: 'acme', canary: true }])
  await wantNextPostgres(db, world)
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
    expect(plan.boxes[0]?.findings[0]?.message).toContain(`\`tenantry boxes rehearse-upgrade acme --to ${nextPostgres}\``)
  })

  test('orders the upgrade with the days for which the former volume is kept', async () => {
    const db = await fresh()
    const world = await aWorld(db)
    await storeRehearsal(db, world, aRehearsal())
    await world.started({ fenceMode: 'until-proven' })
    expect((await orderedUpdate(world))?.payload).toMatchObject({
      targets: { services: { postgres: { image: nextPostgres, digest: digestOf(nextPostgres) } } },
      fence: { mode: 'until-stable', snapshot: 'hot', copyBytesPerSecond: 64e6, upgrade: { way: 'dump-load', keepFormerDays: 7 } },
    })
  })

  test('an update within the major version orders no upgrade', async () => {
    const world = await aWorld(await fresh())
    await applyManifest(world.deps, anOperator, aManifest({ postgres: '17.7' }))
    await world.started()
    const ordered = await orderedUpdate(world)
    expect(ordered?.payload).toHaveProperty('fence.mode')
    expect(ordered?.payload).not.toHaveProperty('fence.upgrade')
    expect(ordered?.payload).not.toHaveProperty('fence.way')
  })

  test('is refused before the pull where the rehearsal has become too old since the plan', async () => {
    const db = await fresh()
    const world = await aWorld(db)
    await storeRehearsal(db, world, aRehearsal())
    const id = await world.started()
    await storeRehearsal(db, world, aRehearsal(), 15)
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
    await storeRehearsal(db, world, aRehearsal({ digest: `sha256:${'1'.repeat(64)}` }))
    const id = await world.started()
    expect(await orderedUpdate(world)).toBeUndefined()
    await world.settle()
    const { actions } = await world.show(id)
    expect(actions).toMatchObject([
      { status: 'failed', error: { code: 'DIGEST_MISMATCH', message: expect.stringMatching(/rehearsal of acme was of sha256:1+/) } },
    ])
  })
})
