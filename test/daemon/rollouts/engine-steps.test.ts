import { describe, expect, test } from 'vitest'
import { holdsOf } from '../../../src/daemon/boxes/index.ts'
import { acquireLease, eventsAfter, type Lease } from '../../../src/daemon/db/index.ts'
import { runRollout } from '../../../src/daemon/rollouts/testing.ts'
import { onBothDialects } from '../../support/databases.ts'
import { dyingAt, interrupted } from '../../support/dying.ts'
import { historyOf, violationsIn } from '../../support/rollout-history.ts'
import { type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

/** Runs the rollout as the replica that owns it. */
async function runnerOf(world: RolloutWorld, rolloutId: string) {
  const lease = (await acquireLease(world.deps, { name: `rollout:${rolloutId}`, owner: world.deps.owner, ttlMs: 30_000 })) as Lease
  return (deps = world.deps) => runRollout({ deps, lease, rolloutId }, world.signal)
}

const workAll = async (world: RolloutWorld) => {
  for (const command of await world.open()) await world.work(command)
}

onBothDialects('the steps of a rollout', (fresh) => {
  describe('of several boxes whose agents answer at the same time', () => {
    const fleet = ['acme', 'beta', 'cora'].map((slug) => ({ slug, canary: true }))

    /** All three agents have reported what runs; their preflight is next. */
    const observed = async () => {
      const world = await rolloutWorld(await fresh(), fleet)
      const id = await world.started()
      const run = await runnerOf(world, id)
      await run()
      await workAll(world)
      return { world, id, run }
    }
    const publishedAs = async ({ deps }: RolloutWorld, id: string, status: string) => {
      const events = await eventsAfter(deps.db, { stream: `rollout:${id}`, after: 0 })
      const actions = events.map(({ payload }) => (payload as { action: { tenantSlug: string; status: string } | null }).action)
      return actions.flatMap((action) => (action?.status === status ? [action.tenantSlug] : [])).sort()
    }

    test('are one transaction each, and the rollout waits for the commands of all', async () => {
      const { world, id, run } = await observed()
      let commits = 0
      const rolloutBus = { ...world.deps.rolloutBus, changed: () => void commits++ }
      const awaited = await run({ ...world.deps, rolloutBus })
      expect(commits).toBe(3)
      expect(awaited.map((command) => command.id).sort()).toEqual(fleet.map(({ slug }) => `${id}.${slug}.1.prefetch`))
      expect(await publishedAs(world, id, 'pulling')).toEqual(['acme', 'beta', 'cora'])
    })

    test('succeed where one fails: it is retried, and nothing happens twice', async () => {
      const { world, id, run } = await observed()
      const { db } = world.deps
      const other = await db.selectFrom('commands').selectAll().where('id', '=', `${id}.acme.1.observe`).executeTakeFirstOrThrow()
      const obstacle = `${id}.beta.1.prefetch`
      await db
        .insertInto('commands')
        .values({ ...other, id: obstacle })
        .execute()
      await run()
      expect(await world.statuses(id)).toEqual({ acme: 'pulling', beta: 'preflight', cora: 'pulling' })
      expect(await publishedAs(world, id, 'pulling')).toEqual(['acme', 'cora'])
      await db.deleteFrom('commands').where('id', '=', obstacle).execute()
      await run()
      expect(await publishedAs(world, id, 'pulling')).toEqual(['acme', 'beta', 'cora'])
    })

    test('fail one box whose hold another owner has taken: that owner keeps it, and the others are updated', async () => {
      const { world, id, run } = await observed()
      const { db } = world.deps
      await run()
      await workAll(world)
      const other = { holder: 'restore:cmd_1', until: '2999-01-01T00:00:00.000Z' }
      await db.updateTable('box_holds').set(other).where('box_id', '=', 'box_beta').execute()
      await run()
      expect(await world.statuses(id)).toEqual({ acme: 'pulling', beta: 'failed', cora: 'pulling' })
      const holds = await holdsOf(db, world.clock)
      expect([...holds.values()].map(({ holder }) => holder).sort()).toEqual([other.holder, `rollout:${id}`, `rollout:${id}`])
      const updates = (await world.commandIds()).filter((command) => command.endsWith('.update'))
      expect(updates).toEqual([`${id}.acme.1.update`, `${id}.cora.1.update`])
    })

    test('release the holds of all boxes in the end', async () => {
      const { world, id, run } = await observed()
      await run()
      for (let step = 0; step < 2; step++) {
        await workAll(world)
        await run()
      }
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'succeeded', cora: 'succeeded' })
      expect(await holdsOf(world.deps.db, world.clock)).toEqual(new Map())
    })
  })

  describe('when a box ends and frees the only slot for the next', () => {
    const limits = { parallel: 1, perHost: 1 }

    /** The agent of acme has reported the end of its update; beta waits for the slot. */
    const reported = async (fate: 'commits' | 'rolls-back' | 'lies' = 'commits') => {
      const boxes = ['acme', 'beta'].map((slug) => ({ slug, canary: true }))
      const world = await rolloutWorld(await fresh(), boxes, limits)
      world.fates.set('acme', [fate])
      const id = await world.started({ failureThreshold: 2 })
      const run = await runnerOf(world, id)
      for (let step = 0; step < 3; step++) {
        await run()
        await workAll(world)
      }
      return { world, id, run }
    }
    const heldBoxes = async ({ deps, clock }: RolloutWorld) => [...(await holdsOf(deps.db, clock)).keys()]

    test('begin the next box, and the rollout waits for its command', async () => {
      const { world, id, run } = await reported()
      const awaited = await run()
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'preflight' })
      expect(awaited.map((command) => command.id)).toContain(`${id}.beta.1.observe`)
      expect(await heldBoxes(world)).toEqual(['box_beta'])
      expect(violationsIn(await historyOf(world.deps.db, id), limits)).toEqual([])
    })

    test.each([
      ['before', 1],
      ['after', 1],
      ['before', 2],
      ['after', 2],
    ] as const)('continue with the next engine, killed %s commit %i', async (when, nth) => {
      const { world, id, run } = await reported()
      await run({ ...world.deps, db: dyingAt(world.deps.db, nth, when).db }).catch(() => undefined)
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'succeeded' })
      expect(violationsIn(await historyOf(world.deps.db, id), limits)).toEqual([])
    })

    test.each(['rolls-back', 'lies'] as const)('begin the next box also where the update %s, below the failure threshold', async (fate) => {
      const { world, id, run } = await reported(fate)
      await run()
      expect((await world.statuses(id)).beta).toBe('preflight')
      expect(violationsIn(await historyOf(world.deps.db, id), limits)).toEqual([])
    })

    test('leave the next box pending where another owner has taken it since it was observed', async () => {
      const { world, id, run } = await reported()
      const other = { box_id: 'box_beta', holder: 'restore:cmd_1', until: '2999-01-01T00:00:00.000Z' }
      const take = async () => void (await world.deps.db.insertInto('box_holds').values(other).execute())
      await run({ ...world.deps, db: interrupted(world.deps.db, 2, take) })
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'pending' })
      expect(await heldBoxes(world)).toEqual(['box_beta'])
    })

    test('begin no box where the rollout was paused since it was observed', async () => {
      const { world, id, run } = await reported()
      const paused = { status: 'paused', previous_status: 'canary' } as const
      const pause = async () => void (await world.deps.db.updateTable('rollouts').set(paused).where('id', '=', id).execute())
      await run({ ...world.deps, db: interrupted(world.deps.db, 2, pause) })
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'pending' })
    })
  })
})
