import { describe, expect, test } from 'vitest'
import type { BoxId } from '../../../src/core/boxes/index.ts'
import { raiseAlert } from '../../../src/daemon/alerts/index.ts'
import { holdBox, releaseHold } from '../../../src/daemon/boxes/index.ts'
import {
  createRollout,
  pauseRollout,
  planStaged,
  promoteRollout,
  resumeRollout,
  startRollout,
} from '../../../src/daemon/rollouts/testing.ts'
import { stuckFence } from '../../support/alerts.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { oneOfEachPhase, rolloutWorld } from '../../support/rollout-world.ts'

const fleet = [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'magna', plan: 'dedicated' as const }] // nobody is in `free_100` and `pro`
const bakeMs = 30 * 60_000

onBothDialects('a rollout with a bake', (fresh) => {
  const baking = async (input: Parameters<Awaited<ReturnType<typeof rolloutWorld>>['started']>[0] = {}) => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started({ bakeMs, ...input })
    await world.settle()
    const scan = async (slug: string, change: object) => {
      world.said.set(slug, change)
      const report = world.reportOf(slug)
      await world.deps.db
        .updateTable('boxes')
        .set({ last_report: JSON.stringify(report), reported_at: world.clock.now().toISOString() })
        .where('slug', '=', slug)
        .execute()
    }
    const later = async (ms: number) => {
      await world.clock.advance(ms)
      await world.heartbeat()
      await world.settle()
    }
    return { world, id, scan, later, show: () => world.show(id) }
  }
  const exited = { services: { synapse: { image: 'x:1', digest: null, state: 'exited', restartCount: 0 } } }

  test('watches each phase that updated boxes before it begins the next one, and none after the last', async () => {
    const { world, id, later, show } = await baking()
    const { status, bakeUntil, finishedAt } = await show()
    expect({ status, bakeUntil, finishedAt }).toEqual({
      status: 'canary',
      bakeUntil: new Date(world.clock.now().getTime() + bakeMs).toISOString(),
      finishedAt: null,
    })
    await later(bakeMs - 1000)
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'pending', magna: 'pending' })
    await later(1000)
    expect(await show()).toMatchObject({ status: 'free_5', bakeUntil: expect.any(String) })
    await later(bakeMs)
    // `free_100` and `pro` have no box to watch, and nothing follows `enterprise`.
    expect(await show()).toMatchObject({ status: 'done', bakeUntil: null })
  })

  test('publishes when a bake begins and until when', async () => {
    const { world, id, show } = await baking()
    const { bakeUntil } = await show()
    const rows = await world.deps.db.selectFrom('events').select('payload').where('event_type', '=', 'rollout.baking').execute()
    expect(rows.map(({ payload }) => JSON.parse(payload as string))).toMatchObject([{ rolloutId: id, status: 'canary', bakeUntil }])
  })

  test.each([
    ['reports a stopped service', 'in acme synapse is exited'],
    ['has a critical alert', 'alert fence_stuck'],
  ])('pauses when an updated box %s', async (_, why) => {
    const { world, id, scan, later, show } = await baking()
    await world.clock.advance(60_000)
    if (why.startsWith('alert')) await world.deps.db.transaction().execute((tx) => raiseAlert(tx, world.clock, stuckFence('acme')))
    else await scan('acme', exited)
    await later(1000)
    expect(await show()).toMatchObject({
      status: 'paused',
      previousStatus: 'canary',
      pauseReason:
        `bake after canary stopped: acme (${why}). Next: repair and resume the rollout, which starts the bake again, ` +
        'promote it to continue without, or abort it.',
    })
    expect(await world.statuses(id)).toMatchObject({ beta: 'pending', magna: 'pending' })
    const alerts = await world.deps.db.selectFrom('alerts').select(['kind', 'severity']).where('subject', '=', id).execute()
    expect(alerts).toEqual([{ kind: 'rollout_paused', severity: 'warning' }])
  })

  test('ignores a box that the rollout has not updated, and alerts from before its update', async () => {
    const { world, scan, later, show } = await baking()
    await world.clock.advance(60_000)
    await scan('beta', exited)
    await later(60_000)
    expect(await show()).toMatchObject({ status: 'canary', pauseReason: null })
  })

  test('waits for the end of a restart by an operator, and evaluates the box then', async () => {
    const { world, id, scan, later, show } = await baking()
    const { db } = world.deps
    await world.clock.advance(60_000)
    const { box_id } = await db.selectFrom('rollout_actions').select('box_id').where('slug', '=', 'acme').executeTakeFirstOrThrow()
    const hold = { boxId: box_id as BoxId, holder: 'restart:cmd_1' }
    const until = new Date(world.clock.now().getTime() + 2 * bakeMs).toISOString()
    await db.transaction().execute((tx) => holdBox(tx, world.clock, { ...hold, until }))
    await scan('acme', exited)
    await later(bakeMs)
    expect(await show()).toMatchObject({ status: 'canary', pauseReason: null })
    expect(await world.statuses(id)).toMatchObject({ beta: 'pending' })
    await db.transaction().execute((tx) => releaseHold(tx, hold))
    await later(1000)
    expect(await show()).toMatchObject({ status: 'paused', pauseReason: expect.stringContaining('in acme synapse is exited') })
  })

  test('starts the whole bake again when it is resumed after the repair', async () => {
    const { world, id, scan, later, show } = await baking()
    await world.clock.advance(bakeMs - 5000)
    await scan('acme', exited)
    await later(1000)
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    expect(await show()).toMatchObject({ status: 'paused' }) // not repaired yet
    await world.clock.advance(1000)
    await scan('acme', {})
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    await later(bakeMs - 1000)
    expect(await show()).toMatchObject({ status: 'canary', pauseReason: null })
    await later(1000)
    expect(await show()).toMatchObject({ status: 'free_5' })
  })

  describe('through a kill of the daemon', () => {
    test('keeps its end, and the next daemon begins the next phase at that end', async () => {
      const { world, show } = await baking()
      const { bakeUntil } = await show()
      await world.clock.advance(bakeMs / 2)
      const next = world.replica('replica-2')
      await world.heartbeat()
      await world.settle(next)
      expect(await show()).toMatchObject({ status: 'canary', bakeUntil, pauseReason: null })
      await world.clock.advance(bakeMs / 2 - 1000)
      await world.settle(next)
      expect(await show()).toMatchObject({ status: 'canary', bakeUntil })
      await world.clock.advance(1000)
      await world.settle(next)
      expect(await show()).toMatchObject({ status: 'free_5', pauseReason: null })
    })

    test('ends at the start of the next daemon where the end was missed', async () => {
      const { world, id, show } = await baking()
      await world.clock.advance(bakeMs * 3)
      const next = world.replica('replica-2')
      await world.heartbeat()
      await world.settle(next)
      expect(await show()).toMatchObject({ status: 'free_5', pauseReason: null, bakeUntil: expect.any(String) })
      expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'succeeded', magna: 'pending' })
    })

    test('stops where a box failed while no daemon ran', async () => {
      const { world, id, scan, show } = await baking()
      await world.clock.advance(bakeMs * 3)
      await scan('acme', exited)
      await world.settle(world.replica('replica-2'))
      expect(await show()).toMatchObject({ status: 'paused', pauseReason: expect.stringContaining('acme (in acme synapse is exited)') })
      expect(await world.statuses(id)).toMatchObject({ beta: 'pending' })
    })
  })

  describe('promote', () => {
    test('begins the next phase without the rest of the bake, audited', async () => {
      const { world, id, show } = await baking()
      await promoteRollout(world.deps, anOperator, { id })
      await world.settle()
      const { status, bakeUntil, auditLog } = await show()
      expect({ status, isBaking: bakeUntil !== null }).toEqual({ status: 'free_5', isBaking: true })
      expect(auditLog.find(({ action }) => action === 'rollout.promoted')).toMatchObject({ data: { from: 'canary', to: 'free_5' } })
    })

    test('continues also where a failing box has stopped the bake, and past a hold after the same phase', async () => {
      const { world, id, scan, later, show } = await baking({ holdAfter: 'canary' })
      await world.clock.advance(1000)
      await scan('acme', exited)
      await later(1000)
      expect(await show()).toMatchObject({ status: 'paused' })
      await promoteRollout(world.deps, anOperator, { id })
      await later(1000)
      expect(await world.statuses(id)).toMatchObject({ beta: 'succeeded', magna: 'pending' })
      const open = await world.deps.db.selectFrom('alerts').select('kind').where('subject', '=', id).where('status', '=', 'open').execute()
      expect(open).toEqual([{ kind: 'rollout_paused' }]) // the box still fails: the next bake stops again
    })

    test('continues a rollout that is held after a phase', async () => {
      const world = await rolloutWorld(await fresh(), fleet)
      const id = await world.started({ holdAfter: 'canary' })
      await world.settle()
      await promoteRollout(world.deps, anOperator, { id })
      await world.settle()
      expect(await world.show(id)).toMatchObject({ status: 'done' })
    })

    test('refuses a rollout that neither holds nor bakes, and one that a person paused', async () => {
      const { world, id } = await baking()
      await pauseRollout(world.deps, anOperator, { id, reason: 'lunch' })
      await expect(promoteRollout(world.deps, anOperator, { id })).rejects.toMatchObject({
        code: 'INVALID_TRANSITION',
        message: expect.stringContaining(
          `is neither held after a phase nor baking: it is paused (lunch). fix: continue it with \`tenantry rollouts resume ${id}\``,
        ),
      })
    })
  })
})

onBothDialects('a rollout with its own number of boxes at once', (fresh) => {
  const wide = ['anna', 'beta', 'cora', 'dora', 'emma'].map((slug) => ({ slug, plan: 'pro' as const }))

  test.each([
    [1, 1],
    [4, 4],
    [undefined, 3],
  ])('%s begins %i', async (parallel, boxes) => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'canary', canary: true }, ...wide])
    const id = await world.started({ holdAfter: 'canary', parallel })
    await world.settle()
    await promoteRollout(world.deps, anOperator, { id })
    await world.tick()
    expect((await world.show(id)).counts.running).toBe(boxes)
    expect((await world.show(id)).plan.parallel).toBe(boxes)
  })

  test('its plan has both in its duration', async () => {
    const world = await rolloutWorld(await fresh(), oneOfEachPhase)
    const plan = async (input: object) => (await planStaged(world.deps, { allowLongFence: false, ...input })).plan
    const plain = await plan({})
    const paced = await plan({ parallel: 1, bakeMs })
    const phases = plain.phases.filter(({ expectedMs }) => expectedMs > 0)
    expect(paced).toMatchObject({ parallel: 1, bakeMs })
    const serialMs = paced.phases.reduce((sum, { expectedMs }) => sum + expectedMs, 0)
    expect(serialMs).toBeGreaterThan(plain.expectedMs)
    expect(paced.expectedMs).toBe(serialMs + (phases.length - 1) * bakeMs)
  })

  test('its rollback keeps to it', async () => {
    const world = await rolloutWorld(await fresh(), wide)
    const { id } = await createRollout(world.deps, anOperator, {
      skipRefused: false,
      allowLongFence: false,
      failureThreshold: 1,
      parallel: 1,
    })
    await startRollout(world.deps, anOperator, { id })
    await world.settle()
    await world.rollBack(id, 'snapshot')
    await world.tick()
    expect((await world.show(id)).counts.rollback).toMatchObject({ running: 1 })
  })
})
