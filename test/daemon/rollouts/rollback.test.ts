import { expect, test } from 'vitest'
import { applyManifest, manifestByRevision } from '../../../src/daemon/boxes/index.ts'
import { snapshotsOfRollouts } from '../../../src/daemon/rollouts/index.ts'
import {
  abortRollout,
  createRollout,
  listRollouts,
  planRollback,
  planStaged,
  reportRollout,
  resumeRollback,
  showAction,
  stopRollback,
} from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { type BoxSpec, type RolloutWorld, rolloutWorld, snapshotIdOf } from '../../support/rollout-world.ts'

const fleet: BoxSpec[] = [
  { slug: 'acme', canary: true },
  { slug: 'beta', plan: 'pro' },
  { slug: 'cora', plan: 'dedicated' },
  { slug: 'dora', plan: 'dedicated', host: 'host-of-cora' },
]

/** Three boxes are updated, one after the other, and the rollout holds before its last. */
async function updatedBut(world: RolloutWorld, last: string): Promise<string> {
  world.fates.set(last, ['pull-fails'])
  const id = await world.started()
  await world.settle()
  expect((await world.show(id)).status).toBe('paused')
  return id
}

const rollbacksOf = async (world: RolloutWorld, id: string) =>
  Object.fromEntries(
    (await world.show(id)).actions.map(({ tenantSlug, status, rollback }) => [tenantSlug, [status, rollback?.status ?? null]]),
  )

const runs = ({ installed }: RolloutWorld, slug: string, synapse: string): void => {
  const now = installed.get(slug)
  if (now) installed.set(slug, { ...now, synapse })
}

const synapses = (world: RolloutWorld) => Object.fromEntries(fleet.map(({ slug }) => [slug, world.installed.get(slug)?.synapse]))

onBothDialects('a rollout that is rolled back with its boxes', (fresh) => {
  test('is rolled back at once, and its updated boxes go back to the images they had', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    const rollout = await world.rollBack(id, 'images')
    expect(rollout).toMatchObject({ status: 'rolled_back', error: 'it was no good' })
    expect(rollout.counts.rollback).toEqual({ total: 3, pending: 3, running: 0, done: 0, failed: 0 })
    await world.settle()
    expect((await world.show(id)).counts.rollback).toEqual({ total: 3, pending: 0, running: 0, done: 3, failed: 0 })
    expect(await rollbacksOf(world, id)).toEqual({
      acme: ['rolled_back', 'done'],
      beta: ['rolled_back', 'done'],
      cora: ['rolled_back', 'done'],
      dora: ['failed', null],
    })
    expect(synapses(world)).toMatchObject({ acme: '1.157.1', beta: '1.157.1', cora: '1.157.1' })
  })

  test('copies the databases as the rollout and the tiers say, with the boxes closed until they are stable', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const { db } = world.deps
    Object.assign(world.deps, { snapshots: { ...world.deps.snapshots, enterprise: 'hot' } })
    const id = await updatedBut(world, 'dora')
    await world.rollBack(id, 'images')
    await world.settle()
    const fenceOf = async (slug: string) => {
      const rows = await db.selectFrom('commands').select('payload').where('id', 'like', `${id}.${slug}.%`).orderBy('id').execute()
      return rows.map(({ payload }) => JSON.parse(payload)).findLast(({ fence, targets }) => fence && targets.services.synapse)?.fence
    }
    expect(await fenceOf('acme')).toEqual({ mode: 'until-stable' })
    expect(await fenceOf('cora')).toEqual({ mode: 'until-stable', snapshot: 'hot', copyBytesPerSecond: 64e6 })
  })

  test('its log is signed once more when nobody is to go back any longer, be it that somebody stopped that', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const { db } = world.deps
    const asked = async () => (await db.selectFrom('jobs').select('id').where('topic', '=', 'audit.checkpoint').execute()).length
    const id = await updatedBut(world, 'dora')
    const before = await asked()
    await world.rollBack(id, 'images')
    await stopRollback(world.deps, anOperator, { id, reason: 'look first' })
    expect(await asked()).toBe(before + 2)
    await resumeRollback(world.deps, anOperator, { id })
    expect(await asked()).toBe(before + 2)
    await world.settle()
    expect(await asked()).toBe(before + 3)
  })

  test('by snapshot: each box is restored to the one from before its update, and what it had meanwhile is kept', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const { db } = world.deps
    const id = await updatedBut(world, 'dora')
    await world.rollBack(id, 'snapshot')
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({ acme: ['rolled_back', 'done'], cora: ['rolled_back', 'done'] })
    const ids = await world.commandIds()
    expect(ids.filter((command) => command.includes('acme.2'))).toEqual([`${id}.acme.2.observe`, `${id}.acme.2.restore`])
    const { payload } = await db.selectFrom('commands').select('payload').where('id', '=', `${id}.acme.2.restore`).executeTakeFirstOrThrow()
    expect(JSON.parse(payload)).toMatchObject({ snapshotId: snapshotIdOf('acme'), snapshotSha256: 'f'.repeat(64) })
    const rows = await db.selectFrom('snapshots').select(['tier']).where('slug', '=', 'acme').orderBy('tier').execute()
    expect(rows.map(({ tier }) => tier)).toEqual(['pre-restore', 'pre-update'])
    const restores = await db.selectFrom('box_restores').select(['status', 'snapshot_id']).where('slug', '=', 'acme').execute()
    expect(restores).toEqual([{ status: 'restored', snapshot_id: snapshotIdOf('acme') }])
    const box = await db.selectFrom('boxes').select('installed_synapse').where('slug', '=', 'acme').executeTakeFirstOrThrow()
    expect(box.installed_synapse).toBe('1.157.1')
    expect(await db.selectFrom('box_holds').selectAll().execute()).toEqual([])
  })

  test('the last that was updated goes back first, three together and one per host', async () => {
    const many = Array.from({ length: 6 }, (_, n) => ({ slug: `box-${n}`, canary: n === 0, host: n === 4 ? 'host-of-box-5' : undefined }))
    const world = await rolloutWorld(await fresh(), [
      ...many.map(({ host, ...box }) => (host ? { ...box, host } : box)),
      { slug: 'last', plan: 'pro' },
    ])
    world.fates.set('last', ['pull-fails'])
    const id = await world.started()
    for (let turn = 0; (await world.show(id)).status !== 'paused'; turn++) {
      expect(turn).toBeLessThan(100)
      await world.tick()
      const [command] = await world.open()
      if (command) await world.work(command)
      await world.clock.advance(1000)
    }
    const order = (await world.show(id)).actions
      .filter(({ status }) => status === 'succeeded')
      .sort((a, b) => ((a.finishedAt ?? '') < (b.finishedAt ?? '') ? 1 : -1))
      .map(({ tenantSlug }) => tenantSlug)
    await world.heartbeat()
    await world.rollBack(id, 'images')
    await world.tick()
    const begun = (await world.open()).map(({ id }) => id.split('.')[1])
    expect(begun).toHaveLength(3)
    // Of the two on one host the later one goes.
    const first = order.filter((slug) => slug !== (order.indexOf('box-4') > order.indexOf('box-5') ? 'box-4' : 'box-5')).slice(0, 3)
    const both = order.slice(0, 3).includes('box-4') && order.slice(0, 3).includes('box-5')
    expect(begun.sort()).toEqual((both ? first : order.slice(0, 3)).sort())
  })

  test('a box under way finishes its update first, and is brought back then; one that fails is left', async () => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', canary: true },
    ])
    const id = await world.started()
    for (let turn = 0; turn < 2; turn++) {
      await world.tick()
      for (const command of await world.open()) await world.work(command)
    }
    await world.tick()
    world.fates.set('beta', ['rolls-back'])
    expect((await world.rollBack(id, 'images')).counts.rollback).toMatchObject({ pending: 2 })
    await world.settle()
    expect(await rollbacksOf(world, id)).toEqual({ acme: ['rolled_back', 'done'], beta: ['rolled_back', null] })
    expect((await world.show(id)).counts.rollback).toMatchObject({ total: 1, done: 1 })
    expect(world.installed.get('acme')?.synapse).toBe('1.157.1')
  })

  test('each way back is an attempt of its own, with its evidence and its place in the audit log', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    await world.rollBack(id, 'images')
    await world.settle()
    const { db } = world.deps
    const attempts = await db.selectFrom('rollout_attempts').selectAll().where('action_id', '=', `${id}.acme`).orderBy('attempt').execute()
    expect(attempts.map(({ kind, status }) => [kind, status])).toEqual([
      ['update', 'succeeded'],
      ['rollback-images', 'rolled_back'],
    ])
    expect(JSON.parse(attempts[1]?.digests_after ?? '')).toEqual(JSON.parse(attempts[0]?.digests_before ?? ''))
    expect(attempts[1]).toMatchObject({ snapshot_id: snapshotIdOf('acme', 2), finished_at: expect.any(String) })
    const { auditLog } = await world.show(id)
    const said = auditLog.map(({ action }) => action).filter((action) => /rollback|rolled_back/.test(action))
    expect(said.filter((action) => action === 'rollout.action.rolled_back')).toHaveLength(3)
    expect(said[0]).toBe('rollout.rolled_back')
  })

  test('a box that was restored by hand meanwhile counts as rolled back', async () => {
    const world = await rolloutWorld(await fresh(), fleet, { parallel: 1 })
    const { db } = world.deps
    const id = await updatedBut(world, 'dora')
    const restored = (slug: string) => {
      runs(world, slug, '1.157.1')
      const last_report = JSON.stringify(world.reportOf(slug))
      return db.updateTable('boxes').set({ last_report, installed_synapse: '1.157.1' }).where('slug', '=', slug).execute()
    }
    await restored('acme')
    const rollout = await world.rollBack(id, 'images')
    expect(rollout.counts).toMatchObject({ succeeded: 2, rolledBack: 1, rollback: { total: 3, pending: 2, done: 1, failed: 0 } })
    await restored('beta') // found by the check right before its rollback
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({
      acme: ['rolled_back', 'done'],
      beta: ['rolled_back', 'done'],
      cora: ['rolled_back', 'done'],
    })
    const ofBeta = (await showAction(world.deps, { id, slug: 'beta' })).attempts.at(-1)
    expect(ofBeta).toMatchObject({ kind: 'rollback-images', status: 'rolled_back', fencedMs: null, error: null })
  })

  test('the manifest still asks for its version until an earlier one is applied, and the next plan warns', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const { db } = world.deps
    const id = await updatedBut(world, 'dora')
    const asked = { revision: 2, versions: ['synapse 1.163.2'], formerRevision: 1 }
    expect((await world.show(id)).stillAsked).toBeNull()
    expect((await world.rollBack(id, 'images')).stillAsked).toEqual(asked)
    const [alert] = await db.selectFrom('alerts').select('body').where('kind', '=', 'rollout_rolled_back').execute()
    expect(alert?.body).toContain(
      'Manifest revision 2 still asks for synapse 1.163.2: the next rollout updates the boxes again. To prevent that: tenantry manifest rollback 1',
    )
    await world.settle()
    expect((await world.show(id)).stillAsked).toEqual(asked)
    expect((await reportRollout(world.deps, { id })).stillAsked).toEqual(asked)
    const { plan } = await planStaged(world.deps, { allowLongFence: false })
    expect(plan.boxes.find(({ tenantSlug }) => tenantSlug === 'acme')?.findings).toContainEqual({
      severity: 'warn',
      code: 'ROLLED_BACK',
      message: `acme was rolled back from synapse 1.163.2 on 2026-01-05 by rollout ${id}: it was no good`,
    })
    const { manifest } = await manifestByRevision(db, 1)
    await applyManifest(world.deps, anOperator, manifest)
    expect((await world.show(id)).stillAsked).toBeNull()
  })

  test('without its boxes it leaves them as they are', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    expect((await world.rollBack(id, 'none')).counts.rollback).toBeNull()
    await world.settle()
    expect(synapses(world)).toMatchObject({ acme: '1.163.2', beta: '1.163.2' })
  })

  test('a maintenance window of its tenant holds no box that is to be brought back', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    // The clock stands at 2 on a Monday: this one is far away.
    const maintenance_window = JSON.stringify({ spans: [{ days: ['fri'], from: '12:00', to: '13:00' }] })
    await world.deps.db.updateTable('tenants').set({ time_zone: 'UTC', maintenance_window }).execute()
    await world.rollBack(id, 'images')
    await world.settle()
    expect((await world.show(id)).counts.rollback).toMatchObject({ done: 3 })
  })

  test('a box that somebody else holds waits, is said to wait, and goes back once it is free', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const { db } = world.deps
    const id = await updatedBut(world, 'dora')
    const until = '2999-01-01T00:00:00.000Z'
    await db.insertInto('box_holds').values({ box_id: 'box_acme', holder: 'move:mov_1', until }).execute()
    await world.rollBack(id, 'images')
    await world.settle()
    const held = (await world.show(id)).actions.find(({ tenantSlug }) => tenantSlug === 'acme')
    expect(held).toMatchObject({
      status: 'succeeded',
      rollback: { status: 'pending' },
      progress: { step: 'wait', detail: expect.stringContaining('move') },
    })
    expect((await world.show(id)).counts.rollback).toMatchObject({ done: 2, pending: 1 })
    await db.deleteFrom('box_holds').execute()
    await world.settle()
    expect((await world.show(id)).counts.rollback).toMatchObject({ done: 3 })
  })
})

onBothDialects('a finished rollout', (fresh) => {
  test.each([
    ['done', async () => undefined],
    ['failed', (world: RolloutWorld, id: string) => abortRollout(world.deps, anOperator, { id })],
    ['rolled_back', (world: RolloutWorld, id: string) => world.rollBack(id, 'none')],
  ] as const)('that is %s stays so, and its boxes are rolled back', async (status, end) => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started(status === 'done' ? {} : { holdAfter: 'pro' })
    await world.settle()
    await end(world, id)
    const before = await world.show(id)
    expect(before.status).toBe(status)
    await world.clock.advance(3_600_000)
    await world.heartbeat()
    const plan = await planRollback(world.deps, { id, boxes: 'snapshot' })
    expect(plan.boxes.every(({ losesMs }) => losesMs >= 3_600_000)).toBe(true)
    const asked = await world.rollBack(id, 'images')
    expect(asked).toMatchObject({
      status,
      finishedAt: before.finishedAt,
      error: 'it was no good',
      counts: { rollback: { pending: plan.rollbacks } },
    })
    await world.settle()
    const after = await world.show(id)
    expect(after).toMatchObject({ status, finishedAt: before.finishedAt, counts: { rollback: { done: plan.rollbacks, failed: 0 } } })
    for (const wanted of [status, 'rolled_back'] as const)
      expect((await listRollouts(world.deps, anOperator, { limit: 5, status: wanted })).rollouts.map((one) => one.id)).toEqual([id])
    expect(synapses(world)).toMatchObject({ acme: '1.157.1', beta: '1.157.1' })
    expect(after.auditLog.map(({ action }) => action).filter((action) => action === 'rollout.rolled_back').length).toBe(
      status === 'rolled_back' ? 2 : 1,
    )
    const { rollback: span } = await reportRollout(world.deps, { id })
    expect(Date.parse(span?.startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(before.finishedAt ?? '') + 3_600_000)
  })

  test('is not rolled back by a snapshot that is gone', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started()
    await world.settle()
    await world.deps.db.updateTable('snapshots').set({ status: 'forgotten' }).where('slug', '=', 'acme').execute()
    await expect(world.rollBack(id, 'snapshot')).rejects.toMatchObject({ code: 'PLAN_REFUSED', violations: ['acme: SNAPSHOT_GONE'] })
    await world.rollBack(id, 'snapshot', { skipRefused: true })
    await world.settle()
    expect(synapses(world)).toMatchObject({ acme: '1.163.2', beta: '1.157.1' })
  })

  test('is not rolled back while another rollout includes its boxes', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const { db } = world.deps
    const id = await world.started()
    await world.settle()
    await db.updateTable('boxes').set({ installed_synapse: '1.157.1' }).where('slug', '=', 'beta').execute()
    const other = await world.started({ targetSlugs: ['beta'] })
    const active = { code: 'ROLLOUT_ACTIVE', message: expect.stringContaining(other) }
    const plan = await planRollback(world.deps, { id, boxes: 'images' })
    expect(plan.activeRollouts).toEqual([{ rolloutId: other, status: expect.any(String), slugs: ['beta'] }])
    await expect(world.rollBack(id, 'images', { skipRefused: true })).rejects.toMatchObject(active)
    await abortRollout(world.deps, anOperator, { id: other })
    await world.settle()
    expect((await planRollback(world.deps, { id, boxes: 'images' })).activeRollouts).toEqual([])
    await world.rollBack(id, 'images', { skipRefused: true })
  })

  test('keeps its pending rollbacks through a kill of the daemon, and they can be stopped and resumed', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await world.started()
    await world.settle()
    await world.rollBack(id, 'images')
    await world.tick()
    expect((await stopRollback(world.deps, anOperator, { id, reason: 'not now' })).counts.rollback?.pending).toBe(0)
    await world.engine.releaseLeases()
    await world.settle(world.replica('replica-2'))
    await resumeRollback(world.deps, anOperator, { id })
    await world.settle(world.replica('replica-2'))
    expect(await world.show(id)).toMatchObject({ status: 'done', counts: { rollback: { total: 4, done: 4 } } })
  })
})

onBothDialects('what cannot go back', (fresh) => {
  test('keeps the rollout from being rolled back that way, and is left as it is where that is asked for', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    runs(world, 'beta', '1.97.0')
    const id = await updatedBut(world, 'dora')
    await expect(world.rollBack(id, 'images')).rejects.toMatchObject({
      code: 'PLAN_REFUSED',
      violations: ['beta: SCHEMA_TOO_NEW'],
      message: expect.stringContaining('--skip-refused'),
    })
    expect((await world.show(id)).status).toBe('paused')
    await world.rollBack(id, 'images', { skipRefused: true })
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({
      acme: ['rolled_back', 'done'],
      beta: ['succeeded', 'failed'],
      cora: ['rolled_back', 'done'],
    })
  })

  test('by images may go back by snapshot, and the plan says how much time of data that loses', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    runs(world, 'beta', '1.97.0')
    const id = await updatedBut(world, 'dora')
    await world.clock.advance(3_600_000)
    await world.heartbeat()
    const byImages = await planRollback(world.deps, { id, boxes: 'images' })
    expect(byImages).toMatchObject({ rollbacks: 2, refusals: 1, boxes: [{ losesSince: null, losesMs: 0 }, {}, {}] })
    const { boxes, rollbacks } = await planRollback(world.deps, { id, boxes: 'snapshot' })
    expect(rollbacks).toBe(3)
    const beta = boxes.find(({ tenantSlug }) => tenantSlug === 'beta')
    expect(beta).toMatchObject({
      does: 'rollback',
      from: { synapse: '1.163.2' },
      to: { synapse: '1.97.0' },
      snapshotId: snapshotIdOf('beta'),
    })
    expect(beta?.losesMs).toBeGreaterThanOrEqual(3_600_000)
    await world.rollBack(id, 'snapshot')
    await world.settle()
    expect(world.installed.get('beta')?.synapse).toBe('1.97.0')
  })

  test('is seen at its turn too: a box that was changed after the plan is left alone', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    await world.rollBack(id, 'images')
    runs(world, 'acme', '1.163.3')
    await world.settle()
    const acme = (await world.show(id)).actions.find(({ tenantSlug }) => tenantSlug === 'acme')
    expect(acme).toMatchObject({ status: 'succeeded', error: null, rollback: { status: 'failed', error: { code: 'PREFLIGHT_REFUSED' } } })
    expect(world.installed.get('acme')?.synapse).toBe('1.163.3')
    expect((await world.show(id)).counts.rollback).toMatchObject({ done: 2, failed: 1 })
  })

  test('of a finished rollout twice, or without its boxes, is refused at once, with what can be done', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }])
    const id = await world.started()
    await world.settle()
    const noBoxes = { code: 'INVALID_TRANSITION', message: expect.stringContaining(`rollback ${id} --boxes images --plan`) }
    await expect(world.rollBack(id, 'none')).rejects.toMatchObject(noBoxes)
    await world.rollBack(id, 'images')
    await world.settle()
    const twice = { code: 'INVALID_TRANSITION', message: expect.stringContaining('tenantry snapshots restore') }
    await expect(planRollback(world.deps, { id, boxes: 'images' })).rejects.toMatchObject(twice)
    await expect(world.rollBack(id, 'snapshot')).rejects.toMatchObject(twice)
  })

  test('of a finished rollout that updated no box is refused', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }])
    const wanted = { skipRefused: false, allowLongFence: false, failureThreshold: 1 }
    const { id } = await createRollout(world.deps, anOperator, wanted)
    await abortRollout(world.deps, anOperator, { id })
    await expect(world.rollBack(id, 'images')).rejects.toMatchObject({ code: 'INVALID_TRANSITION' })
  })

  test('nor of one that has not begun', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
    const wanted = { skipRefused: false, allowLongFence: false, failureThreshold: 1 }
    const { id } = await createRollout(world.deps, anOperator, wanted)
    await expect(planRollback(world.deps, { id, boxes: 'images' })).rejects.toMatchObject({ code: 'INVALID_TRANSITION' })
  })

  test.each([
    ['images', 'observe', 'took'],
    ['images', 'prefetch', 'took'],
    ['images', 'prefetch', 'released'],
    ['snapshot', 'observe', 'took'],
    ['snapshot', 'observe', 'released'],
  ] as const)('by %s: a box that after %s somebody %s is left alone', async (mode, last, what) => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', plan: 'pro' },
    ])
    const { db } = world.deps
    const id = await updatedBut(world, 'beta')
    await world.rollBack(id, mode)
    await world.tick()
    if (last === 'prefetch') {
      for (const command of await world.open()) await world.work(command)
      await world.tick()
    }
    expect((await world.open()).map((command) => command.id)).toEqual([`${id}.acme.2.${last}`])
    if (what === 'released') await db.deleteFrom('box_holds').execute()
    else await db.updateTable('box_holds').set({ holder: 'move:mov_1', until: '2999-01-01T00:00:00.000Z' }).execute()
    await world.settle()
    const [acme] = (await world.show(id)).actions
    expect(acme).toMatchObject({ status: 'succeeded', rollback: { status: 'failed', error: { code: 'BOX_HELD' } } })
    expect((await world.commandIds()).filter((command) => /acme\.2\.(update|restore)/.test(command))).toEqual([])
    expect(await db.selectFrom('box_holds').select('holder').execute()).toEqual(what === 'released' ? [] : [{ holder: 'move:mov_1' }])
  })

  test('a snapshot that is gone from its repository leads nowhere', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    await world.deps.db.updateTable('snapshots').set({ status: 'forgotten' }).where('slug', '=', 'acme').execute()
    await expect(world.rollBack(id, 'snapshot')).rejects.toMatchObject({ code: 'PLAN_REFUSED', violations: ['acme: SNAPSHOT_GONE'] })
  })
})

onBothDialects('a way back that fails', (fresh) => {
  test('and leaves the box serving is told, and the others go back all the same', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    const before = (await world.show(id)).actions.find(({ tenantSlug }) => tenantSlug === 'cora')
    world.fates.set('cora', ['rolls-back'])
    await world.clock.advance(60_000)
    await world.heartbeat()
    await world.rollBack(id, 'images')
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({
      acme: ['rolled_back', 'done'],
      beta: ['rolled_back', 'done'],
      cora: ['succeeded', 'failed'],
    })
    const after = (await world.show(id)).actions.find(({ tenantSlug }) => tenantSlug === 'cora')
    // What it shows is the update again, and beside it why the way back failed.
    for (const key of ['startedAt', 'finishedAt', 'durationMs', 'fencedMs', 'snapshotId'] as const) expect(after?.[key]).toBe(before?.[key])
    expect(after).toMatchObject({ rolledBack: false, error: null, rollback: { error: { code: 'PROBE_FAILED' } } })
    const alerts = await world.deps.db
      .selectFrom('alerts')
      .select(['kind', 'subject'])
      .where('kind', 'in', ['rollback_failed', 'rollout_rolled_back'])
      .orderBy('kind')
      .execute()
    expect(alerts).toEqual([
      { kind: 'rollback_failed', subject: 'cora' },
      { kind: 'rollout_rolled_back', subject: id },
    ])
  })

  test.each(['images', 'snapshot'] as const)('by %s and leaves the box at rest stops the others until somebody says so', async (mode) => {
    const world = await rolloutWorld(await fresh(), fleet, { parallel: 1 })
    const id = await updatedBut(world, 'dora')
    world.fates.set('cora', ['rollback-fails'])
    await world.rollBack(id, mode)
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({
      acme: ['succeeded', 'pending'],
      beta: ['succeeded', 'pending'],
      cora: ['rollback_failed', 'failed'],
    })
    const alerts = await world.deps.db.selectFrom('alerts').select(['title', 'body']).where('key', 'like', `box_down:${id}:%`).execute()
    expect(alerts).toEqual([{ title: expect.stringContaining('cora is DOWN'), body: expect.stringContaining('--resume') }])
    await resumeRollback(world.deps, anOperator, { id })
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({
      acme: ['rolled_back', 'done'],
      beta: ['rolled_back', 'done'],
      cora: ['rollback_failed', 'failed'],
    })
  })

  test('may be stopped for good: what waits stays as it is', async () => {
    const world = await rolloutWorld(await fresh(), fleet, { parallel: 1 })
    const id = await updatedBut(world, 'dora')
    world.fates.set('cora', ['rollback-fails'])
    await world.rollBack(id, 'images')
    await world.settle()
    await stopRollback(world.deps, anOperator, { id, reason: 'we mend it by hand' })
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({ acme: ['succeeded', 'failed'], beta: ['succeeded', 'failed'] })
    expect(synapses(world)).toMatchObject({ acme: '1.163.2', beta: '1.163.2' })
    await stopRollback(world.deps, anOperator, { id, reason: 'again' })
  })

  test('is tried again when somebody resumes it', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    world.fates.set('cora', ['pull-fails'])
    await world.rollBack(id, 'images')
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({ cora: ['succeeded', 'failed'] })
    await resumeRollback(world.deps, anOperator, { id })
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({ cora: ['rolled_back', 'done'] })
    const cora = (await world.show(id)).actions.find(({ tenantSlug }) => tenantSlug === 'cora')
    expect(cora?.attempt).toBe(3)
  })

  test('there is none to go on with where no box was to be brought back', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    await world.rollBack(id, 'none')
    await expect(resumeRollback(world.deps, anOperator, { id })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(`rollouts rollback ${id} --boxes`),
    })
    await expect(stopRollback(world.deps, anOperator, { id, reason: 'no' })).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('an agent that says it is done and runs something else is not believed', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const id = await updatedBut(world, 'dora')
    world.fates.set('cora', ['lies'])
    world.fates.set('beta', ['lies'])
    await world.rollBack(id, 'snapshot')
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({
      beta: ['failed', 'failed'],
      cora: ['failed', 'failed'],
      acme: ['rolled_back', 'done'],
    })
  })

  test('nothing heard of a restore in time: the box stays held, somebody is told, and its answer counts when it comes', async () => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', plan: 'pro' },
    ])
    const id = await updatedBut(world, 'beta')
    await world.rollBack(id, 'snapshot')
    await world.tick()
    for (const command of await world.open()) await world.work(command)
    await world.tick()
    await world.take(`${id}.acme.2.restore`)
    await world.expire(`${id}.acme.2.restore`)
    await world.tick()
    const { db } = world.deps
    expect(await rollbacksOf(world, id)).toMatchObject({ acme: ['rolling_back', 'running'] })
    expect((await db.selectFrom('box_holds').selectAll().execute()).map(({ holder }) => holder)).toEqual([`rollout:${id}`])
    const [late] = await world.lost()
    await world.answer(late?.id ?? '', world.restored('acme', snapshotIdOf('acme')))
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({ acme: ['rolled_back', 'done'] })
  })
})

onBothDialects('a late result of a rollback that counts as failed', (fresh) => {
  /** The agent has reported a failure of the rollback of acme, and holds the result of the same command. */
  const reportedFailed = async (mode: 'images' | 'snapshot') => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', plan: 'pro' },
    ])
    const id = await updatedBut(world, 'beta')
    await world.rollBack(id, mode)
    const command = `${id}.acme.2.${mode === 'images' ? 'update' : 'restore'}`
    for (;;) {
      await world.tick()
      const open = await world.open()
      const last = open.find((one) => one.id === command)
      if (last) {
        await world.clock.advance(60_000)
        await world.refuse(command, 'INTERNAL', 'the agent stopped')
        await world.tick()
        expect(await rollbacksOf(world, id)).toMatchObject({ acme: ['succeeded', 'failed'] })
        return { world, id, command, answer: () => world.answer(command, resultOf(world, last.payload)) }
      }
      for (const one of open) await world.work(one)
    }
  }
  const resultOf = (world: RolloutWorld, payload: unknown) => {
    const { targets, snapshotId } = payload as { targets: Parameters<RolloutWorld['updated']>[1]; snapshotId?: string }
    return snapshotId === undefined ? world.updated('acme', targets) : world.restored('acme', snapshotId)
  }
  const alertsOf = async ({ deps }: RolloutWorld) =>
    (await deps.db.selectFrom('alerts').select('kind').where('subject', '=', 'acme').where('status', '=', 'open').execute()).map(
      ({ kind }) => kind,
    )

  test.each(['images', 'snapshot'] as const)('by %s shows that the box was rolled back', async (mode) => {
    const { world, id, answer } = await reportedFailed(mode)
    expect(await alertsOf(world)).toEqual(['rollback_failed'])
    await world.clock.advance(60_000)
    await answer()
    const { actions, auditLog, counts } = await world.show(id)
    expect(actions[0]).toMatchObject({
      status: 'rolled_back',
      rolledBack: true,
      error: null,
      rollback: { mode, status: 'done', error: null },
    })
    expect(actions[0]?.durationMs).toBe(120_000)
    expect(counts.rollback).toMatchObject({ done: 1, failed: 0 })
    expect(auditLog.at(-1)).toMatchObject({
      action: 'rollout.action.rolled_back',
      data: { slug: 'acme', attempt: 2, status: 'rolled_back' },
    })
    expect(await alertsOf(world)).toEqual([])
    await world.tick()
    expect(await rollbacksOf(world, id)).toMatchObject({ acme: ['rolled_back', 'done'] })
  })

  test.each(['images', 'snapshot'] as const)('by %s shows that the rollback left the box stopped', async (mode) => {
    const { world, id, answer } = await reportedFailed(mode)
    world.fates.set('acme', ['rollback-fails'])
    await answer()
    expect(await rollbacksOf(world, id)).toMatchObject({ acme: ['rollback_failed', 'failed'] })
    expect(await alertsOf(world)).toContain('box_down')
  })

  test.each(['images', 'snapshot'] as const)('by %s changes nothing where it reports no change of the box', async (mode) => {
    const { world, id, answer } = await reportedFailed(mode)
    const before = (await world.show(id)).actions[0]
    world.fates.set('acme', ['fails'])
    await answer()
    const after = (await world.show(id)).actions[0]
    expect({ ...after, rollback: null }).toEqual({ ...before, rollback: null })
    expect(after?.rollback).toMatchObject({ status: 'failed' })
  })

  test('counts for a box whose rollback was resumed meanwhile', async () => {
    const { world, id, answer } = await reportedFailed('snapshot')
    await resumeRollback(world.deps, anOperator, { id })
    await answer()
    await world.settle()
    expect(await rollbacksOf(world, id)).toMatchObject({ acme: ['rolled_back', 'done'] })
    expect((await world.show(id)).actions[0]?.attempt).toBe(2)
  })

  test('of an earlier attempt does not change the next one', async () => {
    const { world, id, answer } = await reportedFailed('snapshot')
    await resumeRollback(world.deps, anOperator, { id })
    await world.tick()
    await answer()
    expect(await rollbacksOf(world, id)).toMatchObject({ acme: ['rolling_back', 'running'] })
  })
})

onBothDialects('the snapshot that a box goes back to', (fresh) => {
  test('is needed until the box is back, though the rollout is over', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const { db } = world.deps
    const id = await updatedBut(world, 'dora')
    const needed = async () => (await snapshotsOfRollouts(db, ['box_acme'])).map(({ snapshotId }) => snapshotId)
    await world.rollBack(id, 'snapshot')
    expect(await needed()).toEqual([snapshotIdOf('acme')])
    await world.tick()
    expect(await needed()).toContain(snapshotIdOf('acme'))
    await world.settle()
    expect(await needed()).toEqual([])
  })
})
