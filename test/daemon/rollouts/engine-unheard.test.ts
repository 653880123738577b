import { expect, test } from 'vitest'
import { holdsOf } from '../../../src/daemon/boxes/index.ts'
import { abortRollout, resumeRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

onBothDialects('an agent that is not heard of', (fresh) => {
  const atUpdate = async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const id = await world.started()
    for (let step = 0; step < 2; step++) {
      await world.tick()
      for (const command of await world.open()) await world.work(command)
    }
    await world.tick()
    return { world, id, update: `${id}.acme.1.update` }
  }

  test('and never fetched the update has not touched the box: failed, host offline, which is named', async () => {
    const { world, id, update } = await atUpdate()
    await world.expire(update)
    await world.tick()
    const message = expect.stringContaining('the agent of host-of-acme never fetched')
    expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'HOST_OFFLINE', message } })
  })

  test('and has the update in hand decides alone: the action stays, the box stays held, the rollout pauses once', async () => {
    const { world, id, update } = await atUpdate()
    await world.take(update)
    await world.tellProgress(update, 'recreate')
    await world.clock.advance(8_000_000)
    await world.expire(update)
    await world.tick()
    const { status, pauseReason, actions } = await world.show(id)
    expect(status).toBe('paused')
    expect(pauseReason).toMatch(/^acme: the agent of host-of-acme has not reported the end of its update in time/)
    expect(actions[0]).toMatchObject({ status: 'updating' })
    expect((await holdsOf(world.deps.db, world.clock)).size).toBe(1)
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.tick()
    expect((await world.show(id)).status).toBe('canary')
  })

  test('and answers late, after the rollout was aborted, is recorded', async () => {
    const { world, id, update } = await atUpdate()
    const { payload } = (await world.open())[0] as unknown as { payload: { targets: never } }
    await world.take(update)
    await world.expire(update)
    await world.tick()
    await abortRollout(world.deps, anOperator, { id })
    await world.clock.advance(1000)
    await world.answer(update, world.updated('acme', payload.targets))
    await world.tick()
    expect(await world.statuses(id)).toEqual({ acme: 'succeeded', beta: 'cancelled' })
    expect((await world.show(id)).status).toBe('failed')
    expect(await holdsOf(world.deps.db, world.clock)).toEqual(new Map())
  })

  test.each([
    ['was brought up on another host', { host_id: 'hst_host-of-beta' }],
    ['was given up', { live: 0, removal: 'erased' as const }],
  ])('whose box %s since can answer no more: the attempt has failed, and the rollout can end', async (_, change) => {
    const { world, id, update } = await atUpdate()
    const { db } = world.deps
    await world.take(update)
    await world.expire(update)
    await world.tick()
    await db.deleteFrom('box_holds').execute()
    await world.tick()
    expect(await world.statuses(id)).toMatchObject({ acme: 'pulling' })
    await db.updateTable('boxes').set(change).where('id', '=', 'box_acme').execute()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.tick()
    expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'HOST_OFFLINE' } })
    await resumeRollout(world.deps, anOperator, { id, skipFailed: true })
    await world.settle()
    expect((await world.show(id)).status).toBe('done')
  })

  test('is told of also where somebody else has taken its box by now, who keeps it', async () => {
    const { world, id, update } = await atUpdate()
    const { db } = world.deps
    await world.take(update)
    await db.updateTable('box_holds').set({ holder: 'move:mov_1' }).execute()
    await world.expire(update)
    await world.tick()
    expect((await world.show(id)).status).toBe('paused')
    expect(await db.selectFrom('alerts').select('id').where('kind', '=', 'update_failed').execute()).toHaveLength(1)
    expect(await db.selectFrom('box_holds').select('holder').execute()).toEqual([{ holder: 'move:mov_1' }])
  })

  test('and answers late with an error ends its attempt', async () => {
    const { world, id, update } = await atUpdate()
    await world.take(update)
    await world.clock.advance(1000)
    await world.expire(update)
    await world.tick()
    await world.clock.advance(1000)
    const error = JSON.stringify({ code: 'COMPOSE_INVALID', message: 'not yaml' })
    await world.deps.db.updateTable('commands').set({ error, heard_at: world.clock.now().toISOString() }).where('id', '=', update).execute()
    await world.tick()
    expect((await world.show(id)).actions[0]).toMatchObject({ status: 'failed', error: { code: 'COMPOSE_INVALID' } })
  })

  test.each([
    ['commits', 'succeeded', []],
    ['rollback-fails', 'rollback_failed', ['box_down']],
  ] as const)('and reports a failure first and then that the update %s: the action shows what runs', async (fate, status, alerts) => {
    const { world, id, update } = await atUpdate()
    const { payload } = (await world.open())[0] as unknown as { payload: { targets: never } }
    await world.refuse(update, 'INTERNAL', 'the agent stopped')
    await world.tick()
    expect(await world.statuses(id)).toEqual({ acme: 'failed', beta: 'pending' })
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false, skip: ['acme'] })
    await abortRollout(world.deps, anOperator, { id })
    world.fates.set('acme', [fate])
    await world.clock.advance(1000)
    await world.answer(update, world.updated('acme', payload.targets))
    const { actions, auditLog } = await world.show(id)
    expect(actions[0]).toMatchObject({ status, updateOk: status === 'succeeded', waived: status !== 'succeeded' })
    expect(auditLog.at(-1)?.action).toBe(`rollout.action.${status}`)
    const raised = await world.deps.db.selectFrom('alerts').select('kind').where('subject', '=', 'acme').execute()
    expect(raised.map(({ kind }) => kind)).toEqual(alerts)
    const box = await world.deps.db.selectFrom('boxes').select('installed_synapse').where('slug', '=', 'acme').executeTakeFirst()
    expect(box).toEqual({ installed_synapse: status === 'succeeded' ? '1.163.2' : '1.157.1' })
  })

  test('and reports the result of an earlier attempt does not change the next one', async () => {
    const { world, id, update } = await atUpdate()
    const { payload } = (await world.open())[0] as unknown as { payload: { targets: never } }
    await world.refuse(update, 'INTERNAL', 'the agent stopped')
    await world.tick()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.answer(update, world.updated('acme', payload.targets))
    expect(await world.statuses(id)).toMatchObject({ acme: 'pending' })
    await world.settle()
    expect(await world.statuses(id)).toMatchObject({ acme: 'skipped' }) // its preflight found the target
  })
})
