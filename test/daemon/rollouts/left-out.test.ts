import { expect, test } from 'vitest'
import { createRollout, planStaged, resumeRollout, startRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { type BoxSpec, rolloutWorld } from '../../support/rollout-world.ts'

const fleet: BoxSpec[] = [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'cora' }, { slug: 'prima', plan: 'pro' }]
const staged = { skipRefused: false, allowLongFence: false, failureThreshold: 1 }

onBothDialects('boxes that an operator leaves out', (fresh) => {
  test('are counted: a skipped failure, a box skipped by name, and a blocked one', async () => {
    const world = await rolloutWorld(await fresh(), [...fleet, { slug: 'wild', managed: false }])
    world.fates.set('acme', ['rolls-back'])
    const targetSlugs = [...fleet.map(({ slug }) => slug), 'wild']
    const { id } = await createRollout(world.deps, anOperator, { ...staged, targetSlugs })
    expect((await startRollout(world.deps, anOperator, { id, skipRefused: true })).counts.leftOut).toBe(1)
    await world.settle()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: true, skip: ['prima'] })
    await world.settle()
    expect(await world.show(id)).toMatchObject({
      status: 'done',
      counts: { total: 5, succeeded: 2, rolledBack: 1, skipped: 2, leftOut: 3 },
    })
  })

  test('are none where boxes were up to date or observed', async () => {
    const world = await rolloutWorld(await fresh(), [...fleet, { slug: 'wild', managed: false }])
    await world.deps.db.updateTable('boxes').set({ installed_synapse: '1.163.2' }).where('slug', '=', 'beta').execute()
    const id = await world.started()
    await world.settle()
    expect((await world.show(id)).counts).toMatchObject({ succeeded: 3, skipped: 2, leftOut: 0 })
  })

  test('a plan and the rollout created after it have the same findings', async () => {
    const world = await rolloutWorld(await fresh(), [...fleet, { slug: 'wild', managed: false }])
    const { db } = world.deps
    await db.updateTable('boxes').set({ database_bytes: 60e9 }).where('slug', '=', 'beta').execute()
    await db.updateTable('hosts').set({ last_seen_at: '2026-01-01T00:00:00.000Z' }).where('name', '=', 'host-of-cora').execute()
    const findingsOf = (boxes: readonly { tenantSlug: string; does: string; findings: unknown }[]) =>
      boxes.map(({ tenantSlug, does, findings }) => ({ tenantSlug, does, findings }))
    const { plan } = await planStaged(world.deps, { allowLongFence: false })
    const made = await createRollout(world.deps, anOperator, staged)
    expect(findingsOf(made.plan.boxes)).toEqual(findingsOf(plan.boxes))
    expect(made.actions.map(({ tenantSlug, findings }) => [tenantSlug, findings])).toEqual(
      plan.boxes.map(({ tenantSlug, findings }) => [tenantSlug, findings]),
    )
    expect(plan.refusals).toBe(2)
  })
})
