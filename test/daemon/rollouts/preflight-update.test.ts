import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { BoxFacts } from '../../../src/core/boxes/index.ts'
import { isoIn } from '../../../src/core/kit/index.ts'
import { holdBox, holdsOf, releaseHold } from '../../../src/daemon/boxes/index.ts'
import { pauseRollout, resumeRollout, showAction } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

const nothingKnown: BoxFacts = {
  ...{ schemaVersion: null, compatVersion: null, backgroundUpdates: null, collation: null, libc: null, mediaBytes: null },
  ...{ objectBytes: null, freeDiskBytes: null, otherServices: null, wouldRecreate: null, composeChanged: null },
  ...{ notRestorable: null, scaledServices: null },
}

onBothDialects('a box at its turn', (fresh) => {
  describe('a box that somebody else holds', () => {
    const holder = 'rollout:ro_other'
    const heldWorld = async () => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta', canary: true }, { slug: 'cora' }])
      const id = await world.started()
      const until = isoIn(world.clock, 3_600_000)
      const { db } = world.deps
      await db.transaction().execute((tx) => holdBox(tx, world.clock, { boxId: 'box_acme' as never, holder, until }))
      await world.settle()
      return { world, id, until, db }
    }
    const toldOf = async (world: RolloutWorld, id: string) => {
      const { rows } = await sql<{ payload: string }>`select payload from events where stream = ${`rollout:${id}`}`.execute(world.deps.db)
      return rows.filter(({ payload }) => payload.includes('on hold: rollout ro_other')).length
    }

    test('waits and is not touched; the others of its phase go, the next phase does not', async () => {
      const { world, id, until } = await heldWorld()
      expect(await world.statuses(id)).toEqual({ acme: 'pending', beta: 'succeeded', cora: 'pending' })
      const { status, actions } = await world.show(id)
      expect(status).toBe('canary')
      expect(actions[0]?.progress).toMatchObject({
        step: 'wait',
        detail: expect.stringContaining(`on hold: rollout ro_other (until ${until}`),
      })
      await world.tick()
      await world.tick()
      expect(await toldOf(world, id)).toBe(1)
      expect([...(await holdsOf(world.deps.db, world.clock)).values()]).toMatchObject([{ holder }])
    })

    test.each(['is given back', 'runs out'])('goes on when the hold %s', async (how) => {
      const { world, id, db } = await heldWorld()
      if (how === 'runs out') await world.clock.advance(3_600_001)
      else await db.transaction().execute((tx) => releaseHold(tx, { boxId: 'box_acme' as never, holder }))
      await world.heartbeat()
      await world.settle()
      expect((await world.show(id)).status).toBe('done')
      expect((await showAction(world.deps, { id, slug: 'acme' })).action).toMatchObject({ status: 'succeeded', attempt: 1 })
    })

    test('can be left out by hand', async () => {
      const { world, id } = await heldWorld()
      const skip = ['acme']
      await expect(resumeRollout(world.deps, anOperator, { id, skipFailed: false, skip })).rejects.toMatchObject({ code: 'CONFLICT' })
      await pauseRollout(world.deps, anOperator, { id, reason: 'acme is held for ever' })
      const unknown = resumeRollout(world.deps, anOperator, { id, skipFailed: false, skip: ['beta'] })
      await expect(unknown).rejects.toMatchObject({ code: 'VALIDATION', details: [{ path: 'skip.0' }] })
      await resumeRollout(world.deps, anOperator, { id, skipFailed: false, skip })
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: 'skipped', beta: 'succeeded', cora: 'succeeded' })
      expect((await world.show(id)).status).toBe('done')
    })
  })

  test('a box that reached its target meanwhile is skipped', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    world.installed.set('acme', { ...world.reportOf('acme').installed, synapse: '1.163.2' })
    await world.settle()
    expect(await world.statuses(id)).toEqual({ acme: 'skipped' })
    expect((await world.show(id)).status).toBe('done')
  })

  test('a box that is newer than its target is refused', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    world.installed.set('acme', { ...world.reportOf('acme').installed, synapse: '1.170.0' })
    await world.settle()
    expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'PREFLIGHT_REFUSED' } })
  })

  test('a box whose own report speaks against it is refused, with what to do', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const id = await world.started()
    world.said.set('acme', { databaseBytes: 3e9, facts: { ...nothingKnown, freeDiskBytes: 1e9 } })
    await world.settle()
    expect((await world.show(id)).actions[0]).toMatchObject({
      status: 'failed',
      findings: [{ code: 'NO_SPACE' }],
      error: {
        code: 'PREFLIGHT_REFUSED',
        message: expect.stringMatching(/needs about 6.9 GB free on its host .*, but 1.0 GB are free. fix: free disk space/),
      },
    })
    expect((await world.commandIds()).filter((command) => command.includes('prefetch'))).toEqual([])
  })
})
