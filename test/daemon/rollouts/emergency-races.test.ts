import { expect, test } from 'vitest'
import type { InstalledVersions } from '../../../src/core/boxes/index.ts'
import { lockOpenRollouts, startRollout } from '../../../src/daemon/rollouts/testing.ts'
import { emptyDatabase, onBothDialects } from '../../support/databases.ts'
import { anAdmin, anOrder, emergencyWorld } from '../../support/emergencies.ts'
import { heldUp } from '../../support/held-up.ts'
import type { BoxSpec } from '../../support/rollout-world.ts'

const fleet: readonly BoxSpec[] = [
  { slug: 'acme', canary: true },
  { slug: 'beta', plan: 'pro' },
]

/** What the staged rollouts of these worlds bring. */
const fixed = { ...anOrder, toChatServer: '1.163.2' }

test('an emergency that waited for the start of a rollback cancels the rollback of each pending box', async () => {
  const { db } = await emptyDatabase('postgres')
  const { deps, fates, started, settle, show, as } = await emergencyWorld(db, fleet)
  fates.set('beta', ['pull-fails'])
  const staged = await started()
  await settle()
  const { id } = await (await as()).createEmergency({ body: fixed })
  let starting: Promise<unknown> = Promise.resolve()
  await db.transaction().execute(async (rollback) => {
    await lockOpenRollouts(rollback, staged)
    starting = startRollout(deps, anAdmin, { id })
    starting.catch(() => undefined) // told below, once nobody holds it up
    await expect.poll(() => heldUp(db)).toBe(1)
    await rollback.updateTable('rollouts').set({ status: 'rolled_back' }).where('id', '=', staged).execute()
    await rollback
      .updateTable('rollout_actions')
      .set({ rollback_mode: 'images', rollback_status: 'pending' })
      .where('rollout_id', '=', staged)
      .where('status', '=', 'succeeded')
      .execute()
  })
  await starting
  expect((await show(staged)).counts.rollback).toMatchObject({ total: 1, pending: 0, failed: 1 })
})

onBothDialects('an emergency, while a staged rollout updates a box', (fresh) => {
  test('includes the box although it runs the fixed version, because its update may still be rolled back', async () => {
    const { deps, fates, installed, started, settle, tick, open, take, answer, updated, work, show, as } = await emergencyWorld(
      await fresh(),
      fleet,
    )
    fates.set('acme', ['rolls-back'])
    const staged = await started()
    const update = await (async () => {
      for (let turn = 0; turn < 10; turn++) {
        await tick()
        for (const command of await open())
          if (command.kind === 'tenant-box.update') return command
          else await work(command)
      }
      throw new Error('no update was ordered')
    })()
    await take(update.id)
    installed.set('acme', { ...(installed.get('acme') as InstalledVersions), synapse: '1.163.2' })
    await deps.db.updateTable('boxes').set({ installed_synapse: '1.163.2' }).where('slug', '=', 'acme').execute()
    const { id } = await (await as()).createEmergency({ body: fixed })
    const ofAcme = async () => (await show(id)).actions.find(({ tenantSlug }) => tenantSlug === 'acme')?.status
    expect(await ofAcme()).toBe('skipped')
    await startRollout(deps, anAdmin, { id })
    expect(await ofAcme()).toBe('pending')
    installed.set('acme', { ...(installed.get('acme') as InstalledVersions), synapse: '1.157.1' })
    await deps.db.updateTable('boxes').set({ installed_synapse: '1.157.1' }).where('slug', '=', 'acme').execute()
    await answer(update.id, updated('acme', (update.payload as { targets: never }).targets))
    await settle()
    await settle() // the box was free only then
    expect((await show(staged)).actions.find(({ tenantSlug }) => tenantSlug === 'acme')?.status).toBe('rolled_back')
    expect([await ofAcme(), installed.get('acme')?.synapse, (await show(id)).status]).toEqual(['succeeded', '1.163.2', 'done'])
  })
})
