import { expect, test } from 'vitest'
import { isProblem } from '../../../../src/core/kit/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { type LifeWorld, lifeWorld } from '../../../support/life-world.ts'

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'no problem',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
const params = { slug: 'north' }
const restart = async (world: LifeWorld) => (await world.api()).restartBox({ params, body: { reason: 'memory' } })

onBothDialects('a restart', (fresh) => {
  const withBox = async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    return { world, id }
  }

  test('holds the box from the call until its agent has reported, audited with its reason', async () => {
    const { world } = await withBox()
    const { commandId } = await restart(world)
    expect(await world.holds()).toEqual(['restart'])
    expect(await code(restart(world))).toBe('BOX_HELD')
    await world.answer('host-1', 'tenant-box.restart')
    expect(await world.holds()).toEqual([])
    expect((await (await world.api()).showBox({ params })).probe).toMatchObject({ verdict: 'ok' })
    const entry = await world.db.selectFrom('audit').select('data').where('action', '=', 'box.restart').executeTakeFirstOrThrow()
    expect(JSON.parse(entry.data as string)).toEqual({ reason: 'memory', commandId })
  })

  test('of some services tells its agent which, and is audited so', async () => {
    const { world } = await withBox()
    await (await world.api()).restartBox({ params, body: { reason: 'memory', services: ['synapse'] } })
    expect(await world.take('host-1')).toMatchObject({
      kind: 'tenant-box.restart_services',
      payload: { slug: 'north', services: ['synapse'] },
    })
    const entry = await world.db.selectFrom('audit').select('data').where('action', '=', 'box.restart').executeTakeFirstOrThrow()
    expect(JSON.parse(entry.data as string)).toMatchObject({ services: ['synapse'] })
  })

  test('that the agent reports as failed releases the box', async () => {
    const { world } = await withBox()
    await restart(world)
    await world.fail('host-1', 'PROBE_FAILED')
    expect(await world.holds()).toEqual([])
  })

  test('is refused while the box is on hold, fenced, or on an offline host, and leaves no hold', async () => {
    const { world, id } = await withBox()
    for (const holder of ['rollout:r1', 'restore:cmd_1', 'maintenance']) {
      await world.db.insertInto('box_holds').values({ box_id: id, holder, until: '2030-01-01T00:00:00.000Z' }).execute()
      expect(await code(restart(world))).toBe('BOX_HELD')
      await world.db.deleteFrom('box_holds').execute()
    }
    await world.db.updateTable('boxes').set({ fenced: 1 }).execute()
    expect(await code(restart(world))).toBe('CONFLICT')
    await world.db.updateTable('boxes').set({ fenced: 0 }).execute()
    await world.silence('host-1')
    expect(await code(restart(world))).toBe('HOST_OFFLINE')
    expect(await world.holds()).toEqual([])
  })
})
