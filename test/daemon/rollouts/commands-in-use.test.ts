import { expect, test } from 'vitest'
import { commandsOfRollouts } from '../../../src/daemon/rollouts/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { type Fate, rolloutWorld } from '../../support/rollout-world.ts'

onBothDialects('commands that rollouts still read', (fresh) => {
  const setUp = async (fate: Fate) => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'north', canary: true }, { slug: 'south' }])
    const { db } = world.deps
    world.fates.set('north', [fate])
    const id = await world.started()
    await world.settle()
    await db.updateTable('rollout_actions').set({ command_id: 'cmd_north' }).where('slug', '=', 'north').execute()
    await db.updateTable('rollout_actions').set({ command_id: null }).where('slug', '=', 'south').execute()
    const set = (status: 'paused' | 'failed') => db.updateTable('rollouts').set({ status }).where('id', '=', id).execute()
    return { db, set }
  }

  test('are those of rollouts that are not over', async () => {
    const { db, set } = await setUp('commits')
    await set('paused')
    expect(await commandsOfRollouts(db)).toEqual(['cmd_north'])
    await set('failed')
    expect(await commandsOfRollouts(db)).toEqual([])
  })

  test('and of a box that rests fenced after its way back failed, also when the rollout is over', async () => {
    const { db, set } = await setUp('rollback-fails')
    await set('failed')
    expect(await commandsOfRollouts(db)).toEqual(['cmd_north'])
  })
})
