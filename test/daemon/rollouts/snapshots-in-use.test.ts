import { expect, test } from 'vitest'
import { snapshotsOfRollouts } from '../../../src/daemon/rollouts/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { type Fate, rolloutWorld, snapshotIdOf } from '../../support/rollout-world.ts'

onBothDialects('snapshots that rollouts still need', (fresh) => {
  const setUp = async (fate: Fate) => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'north', canary: true }, { slug: 'south' }])
    const { db } = world.deps
    world.fates.set('north', [fate])
    const id = await world.started()
    await world.settle()
    const boxIds = ['box_north', 'box_south']
    const needed = async () => (await snapshotsOfRollouts(db, boxIds)).map(({ snapshotId }) => snapshotId)
    const set = (status: 'paused' | 'failed') => db.updateTable('rollouts').set({ status }).where('id', '=', id).execute()
    return { id, db, needed, set }
  }

  test('those of a rollout that is paused are needed, those of one that is over are not', async () => {
    const { needed, set, id, db } = await setUp('rolls-back')
    await set('paused')
    expect(await snapshotsOfRollouts(db, ['box_north'])).toEqual([{ snapshotId: snapshotIdOf('north'), neededBy: `rollout ${id}` }])
    expect(await snapshotsOfRollouts(db, ['box_other'])).toEqual([])
    expect(await snapshotsOfRollouts(db, [])).toEqual([])
    await set('failed')
    expect(await needed()).toEqual([])
  })

  test('those of boxes that were updated well are needed until the rollout is over', async () => {
    const { needed, set } = await setUp('commits')
    expect(await needed()).toEqual([])
    await set('paused')
    expect((await needed()).sort()).toEqual([snapshotIdOf('north'), snapshotIdOf('south')].sort())
  })

  test('that of a box that rests fenced after its way back failed is needed, also when the rollout is over', async () => {
    const { needed, set } = await setUp('rollback-fails')
    await set('failed')
    expect(await needed()).toEqual([snapshotIdOf('north')])
  })
})
