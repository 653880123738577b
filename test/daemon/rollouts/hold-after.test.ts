import { expect, test } from 'vitest'
import type { Phase } from '../../../src/core/rollouts/index.ts'
import { resumeRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

const fleet = [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'magna', plan: 'dedicated' as const }] // nobody is in `free_100` and `pro`

onBothDialects('a rollout that is to hold after a phase', (fresh) => {
  const heldAfter = async (holdAfter: Phase, boxes: Parameters<typeof rolloutWorld>[1] = fleet) => {
    const world = await rolloutWorld(await fresh(), boxes)
    const id = await world.started({ holdAfter })
    await world.settle()
    return { world, id }
  }

  test.each([
    ['canary', 'free_5', { acme: 'succeeded', beta: 'pending', magna: 'pending' }],
    ['free_5', 'free_100', { acme: 'succeeded', beta: 'succeeded', magna: 'pending' }],
    ['free_100', 'pro', { acme: 'succeeded', beta: 'succeeded', magna: 'pending' }],
    ['pro', 'enterprise', { acme: 'succeeded', beta: 'succeeded', magna: 'pending' }],
  ] as const)('%s, with boxes or without, pauses once before %s', async (holdAfter, previousStatus, statuses) => {
    const { world, id } = await heldAfter(holdAfter)
    expect(await world.show(id)).toMatchObject({
      status: 'paused',
      previousStatus,
      pauseReason: `held after ${holdAfter}, as requested at its creation. Next: resume the rollout to continue.`,
    })
    expect(await world.statuses(id)).toEqual(statuses)
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    const { status, auditLog } = await world.show(id)
    expect(status).toBe('done')
    expect(auditLog.filter(({ action }) => action === 'rollout.paused')).toHaveLength(1)
  })

  test('stays held through a kill of the daemon', async () => {
    const { world, id } = await heldAfter('canary')
    await world.clock.advance(24 * 60 * 60_000)
    const next = world.replica('replica-2')
    await world.heartbeat()
    await world.settle(next)
    expect(await world.show(id)).toMatchObject({ status: 'paused', pauseReason: expect.stringMatching(/^held after canary/) })
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle(next)
    expect(await world.show(id)).toMatchObject({ status: 'done' })
  })

  test('the last one has nothing to hold before', async () => {
    const { world, id } = await heldAfter('enterprise')
    expect((await world.show(id)).status).toBe('done')
  })

  test('that has failures pauses for them, and holds once it is through', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    world.fates.set('acme', ['pull-fails'])
    const id = await world.started({ holdAfter: 'canary' })
    await world.settle()
    expect((await world.show(id)).pauseReason).toMatch(/^canary stopped/)
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    expect(await world.show(id)).toMatchObject({ status: 'paused', pauseReason: expect.stringMatching(/^held after canary/) })
  })
})
