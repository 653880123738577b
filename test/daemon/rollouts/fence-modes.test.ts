import { expect, test } from 'vitest'
import { applyManifest } from '../../../src/daemon/boxes/index.ts'
import { pastUpdates, planStaged, resumeRollout, showAction } from '../../../src/daemon/rollouts/testing.ts'
import { aManifest, aProbe } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-room.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

onBothDialects('a rollout that opens chats early', (fresh) => {
  test('says so to agents, and a box that turned sick when it was open fails, pauses its phase and is not touched again', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const id = await world.started({ fenceMode: 'until-first-ok' })
    for (const _ of ['observe', 'prefetch']) {
      await world.tick()
      const [command] = await world.open()
      if (command) await world.work(command)
    }
    await world.tick()
    const [update] = await world.open()
    if (!update) throw new Error('no update was ordered')
    expect(update.payload).toMatchObject({ slug: 'acme', fence: { mode: 'until-first-ok' } })
    const { targets } = update.payload as Parameters<typeof world.updated>[1] extends infer Targets ? { targets: Targets } : never
    const error = { code: 'PROBE_FAILED', message: 'no sync; acme is open to its users on the new version' }
    const sick = { outcome: 'failed', updateOk: true, healthOk: false, rolledBack: false, leftOpen: true, error }
    await world.answer(update.id, { ...world.updated('acme', targets), ...sick })
    await world.settle()

    const shown = await world.show(id)
    expect(shown).toMatchObject({
      status: 'paused',
      previousStatus: 'canary',
      fenceMode: 'until-first-ok',
      counts: { failed: 1, pending: 1 },
    })
    expect(shown.auditLog[0]).toMatchObject({ action: 'rollout.created', data: { fenceMode: 'until-first-ok' } })
    expect(shown.pauseReason).toMatch(/canary stopped: acme failed \(PROBE_FAILED: no sync; acme is open to its users on the new version/)
    const { action, attempts } = await showAction(world.deps, { id, slug: 'acme' })
    expect(action).toMatchObject({ status: 'failed', snapshotOk: true, rolledBack: false, error })
    expect(attempts).toHaveLength(1)
    expect(await world.open()).toEqual([])
  })

  test('tells the next plan how long an update takes, and not how long a whole fence does', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    await world.started({ fenceMode: 'until-first-ok' })
    await world.settle()
    expect(await pastUpdates(world.deps.db)).toEqual([{ slug: 'acme', tier: 'free', durationMs: expect.any(Number), fencedMs: null }])
    await applyManifest(world.deps, anOperator, aManifest({ synapse: '1.163.4' }))
    await world.started()
    await world.settle()
    expect((await pastUpdates(world.deps.db)).map(({ fencedMs }) => fencedMs)).toContainEqual(expect.any(Number))
  })

  test('is proposed by plans once boxes have gone back by images from the same update, and taken by none by itself', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const proposed = async () => (await planStaged(world.deps, { allowLongFence: false })).plan.proposedFenceMode
    expect(await proposed()).toBeUndefined()
    world.fates.set('beta', ['pull-fails'])
    const id = await world.started()
    await world.settle()
    await world.rollBack(id, 'images')
    await world.settle()
    expect(world.installed.get('acme')?.synapse).toBe('1.157.1')
    expect(await proposed()).toBe('until-first-ok')
    expect((await world.show(await world.started())).fenceMode).toBe('until-stable')
  })

  test('a box that was left open and sick is not passed over when it is tried again, until it is well', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const id = await world.started({ fenceMode: 'until-first-ok' })
    for (const _ of ['observe', 'prefetch']) {
      await world.tick()
      for (const command of await world.open()) await world.work(command)
    }
    await world.tick()
    const [update] = await world.open()
    if (!update) throw new Error('no update was ordered')
    const { targets } = update.payload as { targets: Parameters<typeof world.updated>[1] }
    const sick = { outcome: 'failed', healthOk: false, leftOpen: true, error: { code: 'PROBE_FAILED', message: 'no sync' } }
    const probes = [{ ...aProbe(), verdict: 'failed' as const, reason: 'no sync' }]
    await world.answer(update.id, { ...world.updated('acme', targets), ...sick, probes })
    await world.settle()

    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    const { status, actions } = await world.show(id)
    expect(status).toBe('paused')
    expect(actions[0]).toMatchObject({
      status: 'failed',
      error: { code: 'PREFLIGHT_REFUSED', message: expect.stringContaining('boxes check acme') },
    })

    await world.deps.db
      .updateTable('boxes')
      .set({ last_probe: JSON.stringify(aProbe()) })
      .where('slug', '=', 'acme')
      .execute()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    expect(await world.show(id)).toMatchObject({ status: 'done', counts: { skipped: 1, succeeded: 1 } })
  })
})
