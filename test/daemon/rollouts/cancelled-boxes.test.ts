import type { KyselyPlugin } from 'kysely'
import { expect, test } from 'vitest'
import type { RolloutEvent } from '../../../src/core/rollouts/index.ts'
import { eventsAfter } from '../../../src/daemon/db/index.ts'
import { abortRollout, actionsOf, createRollout, insertActions, pauseRollout, reportRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { mortal } from '../../support/dying.ts'
import { type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

const fleet = [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'cora', plan: 'pro' as const }]

const toldOf = async ({ deps }: RolloutWorld, id: string, after = 0) =>
  (await eventsAfter(deps.db, { stream: `rollout:${id}`, after, limit: 5000 })).map(({ payload }) => payload as RolloutEvent)

const inWords = ({ type, status, reason, action }: RolloutEvent) =>
  action ? `${action.tenantSlug} ${action.status} in ${status}` : `${type} ${status}${reason ? `: ${reason}` : ''}`

const cancelledIn = (events: readonly RolloutEvent[]) =>
  events.flatMap(({ action }) => (action?.status === 'cancelled' ? [action.tenantSlug] : []))

onBothDialects('boxes whose turn never comes because their rollout is ended', (fresh) => {
  const underWay = async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started()
    await world.tick()
    const { lastEventId } = await world.show(id)
    return { world, id, after: Number(lastEventId) }
  }

  test('are told each, as they are now, and the end comes last: whoever follows leaves then', async () => {
    const { world, id, after } = await underWay()
    await abortRollout(world.deps, anOperator, { id, reason: 'wrong version' })
    const told = await toldOf(world, id, after)
    expect(told.map(inWords)).toEqual(['beta cancelled in canary', 'cora cancelled in canary', 'rollout.failed failed: wrong version'])
    const { actions } = await world.show(id)
    for (const { action } of told) if (action) expect(actions).toContainEqual(action)
  })

  test('are told as well where it is rolled back, and those that are to go back beside them', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started({ holdAfter: 'canary' })
    await world.settle()
    const { lastEventId } = await world.show(id)
    await world.rollBack(id, 'images')
    expect((await toldOf(world, id, Number(lastEventId))).map(inWords)).toEqual([
      'beta cancelled in paused',
      'cora cancelled in paused',
      'acme succeeded in paused',
      'rollout.rolled_back rolled_back: it was no good',
    ])
  })

  test('are told where it never began, and where it was paused', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const queued = await createRollout(world.deps, anOperator, { skipRefused: false, allowLongFence: false, failureThreshold: 1 })
    await abortRollout(world.deps, anOperator, { id: queued.id })
    const paused = await world.started()
    await pauseRollout(world.deps, anOperator, { id: paused, reason: 'lunch' })
    await abortRollout(world.deps, anOperator, { id: paused })
    for (const id of [queued.id, paused]) expect(cancelledIn(await toldOf(world, id))).toEqual(['acme', 'beta', 'cora'])
  })

  test('stand by name in the log, and by number in what became of it', async () => {
    const { world, id } = await underWay()
    await abortRollout(world.deps, anOperator, { id })
    expect((await world.show(id)).auditLog.at(-1)?.data).toMatchObject({ cancelled: 2, cancelledBoxes: ['beta', 'cora'] })
    const { timeline } = await reportRollout(world.deps, { id })
    expect(timeline.at(-1)).toMatchObject({ action: 'rollout.failed', cancelled: 2 })
  })

  test('are cancelled and told, or neither, wherever the daemon is killed', async () => {
    for (let steps = 0; ; steps++) {
      const { world, id } = await underWay()
      const { db, isDead } = mortal(world.deps.db, steps)
      const died = await abortRollout({ ...world.deps, db }, anOperator, { id }).then(
        () => false,
        () => true,
      )
      const isEnded = (await world.show(id)).status === 'failed'
      expect(await world.statuses(id)).toMatchObject(
        isEnded ? { beta: 'cancelled', cora: 'cancelled' } : { beta: 'pending', cora: 'pending' },
      )
      expect(cancelledIn(await toldOf(world, id))).toEqual(isEnded ? ['beta', 'cora'] : [])
      if (!died) break
      expect(isDead()).toBe(true)
    }
  })

  test('are thousands without a statement for each', async () => {
    const { world, id } = await underWay()
    const { db } = world.deps
    const [one] = await actionsOf(db, id, ['pending'])
    if (!one) throw new Error('nobody waits')
    const more = Array.from({ length: 1600 }, (_, n) => ({ ...one, id: `${id}.t${n}`, tenantSlug: `t${n}` }))
    await db.transaction().execute((tx) => insertActions(tx, more))
    let statements = 0
    const counting: KyselyPlugin = {
      transformQuery: ({ node }) => {
        statements += 1
        return node
      },
      transformResult: async ({ result }) => result,
    }
    const ended = await abortRollout({ ...world.deps, db: db.withPlugin(counting) }, anOperator, { id })
    expect(ended.counts.cancelled).toBe(1602)
    expect(cancelledIn(await toldOf(world, id))).toHaveLength(1602)
    expect(statements).toBeLessThan(200)
  })
})
