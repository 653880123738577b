import { expect, test } from 'vitest'
import { holdsOf } from '../../../src/daemon/boxes/index.ts'
import { acquireLease, type Lease } from '../../../src/daemon/db/index.ts'
import { round } from '../../../src/daemon/rollouts/engine/round.ts'
import { onBothDialects } from '../../support/databases.ts'
import { dyingAt, interrupted } from '../../support/dying.ts'
import { historyOf, violationsIn } from '../../support/rollout-history.ts'
import { type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

const limits = { parallel: 1, perHost: 1 }

onBothDialects('a box whose turn comes because another has ended', (fresh) => {
  /** One at a time: acme is updated, and its agent has said how that went; beta waits for its place. */
  const ended = async (fate: 'commits' | 'rolls-back' | 'lies' = 'commits') => {
    const world = await rolloutWorld(
      await fresh(),
      [
        { slug: 'acme', canary: true },
        { slug: 'beta', canary: true },
      ],
      limits,
    )
    world.fates.set('acme', [fate])
    const id = await world.started({ failureThreshold: 2 })
    const lease = (await acquireLease(world.deps, { name: `rollout:${id}`, owner: world.deps.holder, ttlMs: 30_000 })) as Lease
    const next = (deps = world.deps) => round({ deps, lease, rolloutId: id }, world.signal)
    for (let step = 0; step < 3; step++) {
      await next()
      for (const command of await world.open()) await world.work(command)
    }
    return { world, id, next }
  }
  const holders = async ({ deps, clock }: RolloutWorld) => [...(await holdsOf(deps.db, clock)).keys()]

  test('begins in the transaction of that end, and nothing is left to look for', async () => {
    const { world, id, next } = await ended()
    let commits = 0
    const rolloutBus = { ...world.deps.rolloutBus, changed: () => void commits++ }
    const { goesOn, waitingFor } = await next({ ...world.deps, rolloutBus })
    expect(commits).toBe(1)
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'preflight' })
    expect(goesOn).toBe(false)
    expect(waitingFor.map((command) => command.id)).toContain(`${id}.beta.1.observe`)
    expect(await holders(world)).toEqual(['box_beta'])
    expect(violationsIn(await historyOf(world.deps.db, id), limits)).toEqual([])
  })

  test.each(['before', 'after'] as const)('begins with it or not at all: killed %s that commit', async (when) => {
    const { world, id, next } = await ended()
    await next({ ...world.deps, db: dyingAt(world.deps.db, 1, when).db })
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: when === 'after' ? 'preflight' : 'pending' })
    await world.settle()
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'succeeded' })
    expect(violationsIn(await historyOf(world.deps.db, id), limits)).toEqual([])
  })

  test.each(['rolls-back', 'lies'] as const)('is not begun with it when it %s, but by the next look, if it may', async (fate) => {
    const { world, id, next } = await ended(fate)
    expect((await next()).goesOn || fate === 'lies').toBe(true)
    await next()
    expect((await world.statuses(id)).beta).toBe('preflight')
    expect(violationsIn(await historyOf(world.deps.db, id), limits)).toEqual([])
  })

  test('waits where somebody has taken it since the look: the end stands all the same', async () => {
    const { world, id, next } = await ended()
    const other = { box_id: 'box_beta', holder: 'restore:cmd_1', until: '2999-01-01T00:00:00.000Z' }
    const taken = async () => void (await world.deps.db.insertInto('box_holds').values(other).execute())
    const { goesOn } = await next({ ...world.deps, db: interrupted(world.deps.db, 1, taken) })
    expect(goesOn).toBe(true)
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'pending' })
    expect(await holders(world)).toEqual(['box_beta'])
  })

  test('does not begin where its rollout was paused since the look', async () => {
    const { world, id, next } = await ended()
    const pause = async () =>
      void (await world.deps.db.updateTable('rollouts').set({ status: 'paused', previous_status: 'canary' }).where('id', '=', id).execute())
    await next({ ...world.deps, db: interrupted(world.deps.db, 1, pause) })
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'pending' })
  })
})
