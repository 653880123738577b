import { expect, test } from 'vitest'
import { showAction } from '../../../src/daemon/rollouts/show-rollout.ts'
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
    expect(shown.pauseReason).toMatch(/canary stopped: acme failed \(PROBE_FAILED: no sync; acme is open to its users on the new version/)
    const { action, attempts } = await showAction(world.needs, { id, slug: 'acme' })
    expect(action).toMatchObject({ status: 'failed', snapshotOk: true, rolledBack: false, error })
    expect(attempts).toHaveLength(1)
    expect(await world.open()).toEqual([])
  })
})
