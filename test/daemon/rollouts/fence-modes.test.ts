import { type Kysely, sql } from 'kysely'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { applyManifest } from '../../../src/daemon/boxes/index.ts'
import { hotSnapshots } from '../../../src/daemon/db/migrations/0016-hot-snapshots.ts'
import { rolloutsFeature } from '../../../src/daemon/rollouts/index.ts'
import { pastUpdates, planStaged, resumeRollout, showAction } from '../../../src/daemon/rollouts/testing.ts'
import { aManifest, aProbe } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

onBothDialects('a rollout that opens chats early', (fresh) => {
  test('says so to agents, and a box that turned sick when it was open fails, pauses its phase and is not touched again', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const id = await world.started({ fenceMode: 'until-proven' })
    for (const _ of ['observe', 'prefetch']) {
      await world.tick()
      const [command] = await world.open()
      if (command) await world.work(command)
    }
    await world.tick()
    const [update] = await world.open()
    if (!update) throw new Error('no update was ordered')
    expect(update.payload).toMatchObject({ slug: 'acme', fence: { mode: 'until-proven', isForced: true } })
    const { targets } = update.payload as Parameters<typeof world.updated>[1] extends infer Targets ? { targets: Targets } : never
    const error = { code: 'PROBE_FAILED', message: 'no sync; acme is open to its users on the new version' }
    const sick = { outcome: 'failed', updateOk: true, healthOk: false, rolledBack: false, leftOpen: true, error }
    await world.answer(update.id, { ...world.updated('acme', targets), ...sick })
    await world.settle()

    const shown = await world.show(id)
    expect(shown).toMatchObject({
      status: 'paused',
      previousStatus: 'canary',
      fenceMode: 'until-proven',
      counts: { failed: 1, pending: 1 },
    })
    expect(shown.auditLog[0]).toMatchObject({ action: 'rollout.created', data: { fenceMode: 'until-proven' } })
    expect(shown.pauseReason).toMatch(/canary stopped: acme failed \(PROBE_FAILED: no sync; acme is open to its users on the new version/)
    const { action, attempts } = await showAction(world.deps, { id, slug: 'acme' })
    expect(action).toMatchObject({ status: 'failed', snapshotOk: true, rolledBack: false, error })
    expect(attempts).toHaveLength(1)
    expect(await world.open()).toEqual([])
  })

  test('tells the next plan how long an update takes, and not how long a whole fence does', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    await world.started({ fenceMode: 'until-proven' })
    await world.settle()
    expect(await pastUpdates(world.deps.db)).toMatchObject([{ slug: 'acme', tier: 'free', durationMs: expect.any(Number), fencedMs: null }])
    await applyManifest(world.deps, anOperator, aManifest({ synapse: '1.163.4' }))
    await world.started({ fenceMode: 'until-stable' })
    await world.settle()
    expect((await pastUpdates(world.deps.db)).map(({ fencedMs }) => fencedMs)).toContainEqual(expect.any(Number))
  })

  test('is the default where the former images read what the new version writes, and each box says why it is not', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const { plan } = await planStaged(world.deps, { allowLongFence: false })
    expect(plan.boxes.map(({ fenceMode, fenceReason }) => [fenceMode, fenceReason])).toEqual([
      ['until-proven', undefined],
      ['until-proven', undefined],
    ])
    const forced = await planStaged(world.deps, { allowLongFence: false, fenceMode: 'until-stable' })
    expect(forced.plan.boxes[0]).toMatchObject({ fenceMode: 'until-stable' })
    expect(forced.plan.boxes[0]?.expectedFenceMs).toBeGreaterThan((plan.boxes[0]?.expectedFenceMs ?? 0) + 100_000)
    const pro = { ...world.deps, fences: { ...world.deps.fences, free: 'none' as const } }
    expect((await planStaged(pro, { allowLongFence: false })).plan.boxes[0]).toMatchObject({ fenceMode: 'none' })
    const id = await world.started()
    await world.settle()
    const { fenceMode, actions } = await world.show(id)
    expect([fenceMode, actions.map((action) => action.fenceMode)]).toEqual(['auto', ['until-proven', 'until-proven']])
    const registry = new Registry()
    rolloutsFeature.metrics?.(world.deps, registry)
    expect(await registry.metrics()).toMatch(/^tenantry_update_downtime_seconds\{mode="until-proven",value="expected"\} [0-9]/m)
  })

  test('orders a hot copy with its speed where PostgreSQL supports it, and else names the reason in the plan', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }])
    const planned = async () => (await planStaged(world.deps, { allowLongFence: false, snapshotMode: 'hot' })).plan.boxes[0]
    // Before its first report.
    expect(await planned()).toMatchObject({ snapshotMode: 'before', snapshotReason: expect.stringMatching(/did not report/) })
    const id = await world.started({ snapshotMode: 'hot' })
    for (const _ of ['observe', 'prefetch']) {
      await world.tick()
      for (const command of await world.open()) await world.work(command)
    }
    await world.tick()
    const payload = (await world.open())[0]?.payload
    expect(payload).toMatchObject({ fence: { snapshot: 'hot', copyBytesPerSecond: 64e6 } })
    expect(payload).not.toMatchObject({ fence: { snapshotReason: expect.anything() } })
    const shown = await world.show(id)
    expect(shown.snapshotMode).toBe('hot')
    expect(shown.auditLog[0]).toMatchObject({ action: 'rollout.created', data: { snapshotMode: 'hot' } })
    expect(await planned()).toMatchObject({ snapshotMode: 'hot' })
    // The request of the rollout comes before that of the tier.
    const tiers = { ...world.deps, snapshots: { ...world.deps.snapshots, free: 'hot' as const } }
    const modesOf = async (deps: typeof world.deps, snapshotMode?: 'before') =>
      (await planStaged(deps, { allowLongFence: false, snapshotMode })).plan.boxes.map((box) => box.snapshotMode)
    expect(await Promise.all([modesOf(world.deps), modesOf(tiers), modesOf(tiers, 'before')])).toEqual([['before'], ['hot'], ['before']])
  })

  test('a rollout of an earlier build that asks for the snapshot mode that is gone makes hot copies', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }])
    const { db } = world.deps
    const id = await world.started({ snapshotMode: 'hot' })
    const modes = async () => {
      const { plan } = await db.selectFrom('rollout_plans').select('plan').executeTakeFirstOrThrow()
      return { plan, mode: (await world.show(id)).snapshotMode, planned: JSON.parse(plan).boxes[0].snapshotMode }
    }
    await sql`update rollouts set snapshot_mode = 'alongside'`.execute(db)
    const plan = (await modes()).plan.replace('"snapshotMode":"before"', '"snapshotMode":"alongside"')
    await db.updateTable('rollout_plans').set({ plan }).execute()
    expect(await modes()).toMatchObject({ mode: 'alongside', planned: 'alongside' })
    await hotSnapshots.up(db as unknown as Kysely<unknown>)
    expect(await modes()).toMatchObject({ mode: 'hot', planned: 'hot' })
  })

  test('a box that was left open and sick is not passed over when it is tried again, until it is well', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const id = await world.started({ fenceMode: 'until-proven' })
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
