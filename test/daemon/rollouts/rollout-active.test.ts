import { expect, test } from 'vitest'
import type { InstalledVersions } from '../../../src/core/boxes/index.ts'
import {
  abortRollout,
  createRollout,
  listRollouts,
  planStaged,
  rollbackRollout,
  startRollout,
} from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { type BoxSpec, type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

const fleet: BoxSpec[] = [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'prima', plan: 'pro' }]

const staged = { skipRefused: false, allowLongFence: false, failureThreshold: 1 }

const created = async (world: RolloutWorld, targetSlugs?: string[]) =>
  (await createRollout(world.deps, anOperator, { ...staged, ...(targetSlugs ? { targetSlugs } : {}) })).id

const start = (world: RolloutWorld, id: string, queue = false) => startRollout(world.deps, anOperator, { id, queue })

/** Pauses in `pro`, with `prima` open. */
async function pausedAtPrima(world: RolloutWorld): Promise<string> {
  world.fates.set('prima', ['pull-fails'])
  const id = await world.started()
  await world.settle()
  expect((await world.show(id)).status).toBe('paused')
  return id
}

onBothDialects('a rollout over a box of an unfinished one', (fresh) => {
  test('is refused with the id and the boxes, and stays queued', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const first = await pausedAtPrima(world)
    const second = await created(world, ['prima'])
    await expect(start(world, second)).rejects.toMatchObject({
      code: 'ROLLOUT_ACTIVE',
      message: expect.stringMatching(new RegExp(`${first} \\(paused\\).*prima.*rollouts start ${second} --queue`)),
    })
    const queued = await world.show(second)
    expect([queued.status, queued.plan.activeRollouts]).toEqual(['queued', [{ rolloutId: first, status: 'paused', slugs: ['prima'] }]])
    await abortRollout(world.deps, anOperator, { id: first })
    expect((await world.show(second)).plan.activeRollouts).toEqual([])
    expect(await start(world, second)).toMatchObject({ status: 'canary', queuedBehind: [] })
    await world.settle()
    expect((await world.show(second)).status).toBe('done')
  })

  test('is named by its plan before it is created', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    expect((await planStaged(world.deps, { allowLongFence: false })).plan.activeRollouts).toEqual([])
    const first = await pausedAtPrima(world)
    const plan = async (targetSlugs?: string[]) =>
      (await planStaged(world.deps, { allowLongFence: false, targetSlugs })).plan.activeRollouts
    expect(await plan()).toEqual([{ rolloutId: first, status: 'paused', slugs: ['prima'] }])
    expect(await plan(['acme'])).toEqual([])
  })

  test('starts where the other has none of its boxes, or skipped them', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const first = await created(world, ['prima'])
    await start(world, first)
    const second = await created(world, ['acme', 'beta'])
    await start(world, second)
    await world.settle()
    expect([(await world.show(first)).status, (await world.show(second)).status]).toEqual(['done', 'done'])
  })

  test('with `queue` it begins once the other has finished, and says until then which one that is', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const first = await pausedAtPrima(world)
    world.installed.set('acme', { ...(world.installed.get('acme') as InstalledVersions), synapse: '1.157.1' })
    await world.deps.db.updateTable('boxes').set({ installed_synapse: '1.157.1' }).where('slug', '=', 'acme').execute()
    const second = await created(world)
    expect(await start(world, second, true)).toMatchObject({ status: 'canary', queuedBehind: [first] })
    await world.settle()
    const waiting = await world.show(second)
    expect([waiting.status, waiting.queuedBehind, waiting.counts.pending]).toEqual(['canary', [first], 2])
    const { rollouts } = await listRollouts(world.deps, anOperator, { limit: 10 })
    expect(rollouts.map(({ id, queuedBehind }) => [id, queuedBehind])).toEqual(
      expect.arrayContaining([
        [second, [first]],
        [first, []],
      ]),
    )
    await abortRollout(world.deps, anOperator, { id: first })
    await world.settle()
    expect(await world.show(second)).toMatchObject({ status: 'done', queuedBehind: [], counts: { succeeded: 2 } })
  })

  test('waits for the pending rollback of boxes too', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const first = await pausedAtPrima(world)
    await rollbackRollout(world.deps, anOperator, { id: first, reason: 'no good', boxes: 'images', skipRefused: false })
    await world.deps.db.updateTable('boxes').set({ installed_synapse: '1.157.1' }).where('slug', '=', 'beta').execute()
    const second = await created(world, ['beta'])
    await expect(start(world, second)).rejects.toMatchObject({ code: 'ROLLOUT_ACTIVE' })
    await start(world, second, true)
    await world.settle()
    await world.settle() // the end of the first may come after the second was read; the engine then ticks again
    expect(await world.show(second)).toMatchObject({ status: 'done', counts: { succeeded: 1 } })
    expect((await world.show(first)).counts.rollback).toMatchObject({ done: 2, failed: 0 })
    expect(world.installed.get('beta')?.synapse).toBe('1.163.2')
  })

  test('of two that start at once one is refused', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const ids = [await created(world), await created(world)]
    const answers = await Promise.allSettled(ids.map((id) => start(world, id)))
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.code] : []))
    expect(refused).toEqual(['ROLLOUT_ACTIVE'])
  })
})
