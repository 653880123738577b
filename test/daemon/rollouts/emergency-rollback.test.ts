import { expect, test } from 'vitest'
import type { InstalledVersions } from '../../../src/core/boxes/index.ts'
import { abortRollout, planRollback, resumeRollback, rollbackRollout, startRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { anAdmin, anOrder, emergencyWorld } from '../../support/emergencies.ts'
import type { BoxSpec } from '../../support/rollout-world.ts'

const fleet: readonly BoxSpec[] = [
  { slug: 'acme', canary: true },
  { slug: 'beta', plan: 'pro' },
  { slug: 'cora', plan: 'dedicated' },
  { slug: 'dora', plan: 'dedicated' },
]

/** What the staged rollout has just brought is what the emergency asks for. */
const fixed = { ...anOrder, toChatServer: '1.163.2' }

onBothDialects('an emergency beside a rollback of boxes', (fresh) => {
  /** Three of four boxes run the fixed version; the rollout that brought it is paused. */
  const begin = async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const { deps, fates, started, settle, installed, open, work, tick } = world
    const api = await world.as()
    fates.set('dora', ['pull-fails'])
    const staged = await started()
    await settle()
    const queued = async () => (await api.createEmergency({ body: fixed })).id
    const start = (id: string) => startRollout(deps, anAdmin, { id })
    const versions = () => Object.fromEntries(fleet.map(({ slug }) => [slug, installed.get(slug)?.synapse]))
    const steps = async (count: number) => {
      for (let step = 0; step < count; step++) {
        for (const command of await open()) await work(command)
        await tick()
      }
    }
    return { ...world, api, staged, queued, start, versions, steps }
  }
  const allFixed = { acme: '1.163.2', beta: '1.163.2', cora: '1.163.2', dora: '1.163.2' }

  test('cancels pending rollbacks of boxes; its plan, the rollout and the audit log name them', async () => {
    const { deps, staged, queued, start, settle, rollBack, show, versions, api } = await begin()
    await rollBack(staged, 'images')
    expect((await api.planRollout({ body: { kind: 'emergency_cve', toChatServer: '1.163.2' } })).stopsRollbacksOf).toEqual([staged])
    const id = await queued()
    await start(id)
    await settle()
    expect(versions()).toEqual(allFixed)
    expect((await show(id)).status).toBe('done')
    const { actions, counts, auditLog } = await show(staged)
    expect(counts.rollback).toEqual({ total: 3, pending: 0, running: 0, done: 0, failed: 3 })
    expect(actions.find(({ tenantSlug }) => tenantSlug === 'acme')).toMatchObject({
      status: 'succeeded',
      rollback: { status: 'failed', error: { code: 'CANCELLED', message: expect.stringContaining(`${id} (CVE-2026-12345)`) } },
    })
    expect(auditLog.at(-1)).toMatchObject({
      action: 'rollout.rollback.stopped',
      actor: 'admin:anna',
      data: { emergency: id, leftAsTheyAre: ['acme', 'beta', 'cora'] },
    })
    const alerts = await deps.db.selectFrom('alerts').select('body').where('title', 'like', 'Emergency % has started').execute()
    expect(alerts).toEqual([{ body: expect.stringContaining(`Rollbacks stopped, decide afterwards: ${staged}`) }])
  })

  test('once finished is rolled back by an admin only, who is warned of its own vulnerability', async () => {
    const { deps, staged, queued, start, settle, show, versions, clock, heartbeat } = await begin()
    await abortRollout(deps, anOperator, { id: staged })
    const id = await queued()
    await start(id)
    await settle()
    await clock.advance(1000)
    await heartbeat()
    expect((await show(id)).status).toBe('done')
    const wanted = { id, reason: 'worse than the vulnerability', boxes: 'images' as const, skipRefused: false }
    await expect(rollbackRollout(deps, anOperator, wanted)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const { boxes } = await planRollback(deps, { id, boxes: 'images' })
    expect(boxes.map(({ tenantSlug, findings }) => [tenantSlug, findings.map(({ severity, code }) => `${severity} ${code}`)])).toEqual([
      ['dora', expect.arrayContaining(['warn REINTRODUCES_CVE'])],
    ])
    await rollbackRollout(deps, anAdmin, wanted)
    await settle()
    expect([(await show(id)).status, versions().dora]).toEqual(['done', '1.157.1'])
  })

  test('updates a box that is being rolled back, once its rollback has ended', async () => {
    const { staged, queued, start, settle, tick, steps, rollBack, show, versions } = await begin()
    await rollBack(staged, 'images')
    await tick()
    await steps(2)
    const goingBack = (await show(staged)).actions
      .filter(({ rollback }) => rollback?.status === 'running')
      .map(({ tenantSlug }) => tenantSlug)
    expect(goingBack).not.toEqual([])
    const id = await queued()
    expect((await show(id)).actions.find(({ tenantSlug }) => tenantSlug === goingBack[0])?.status).toBe('skipped')
    await start(id)
    await settle()
    await settle() // the box was free only then
    expect((await show(staged)).counts.rollback).toMatchObject({ done: goingBack.length, pending: 0 })
    expect((await show(id)).status).toBe('done')
    expect(versions()).toEqual(allFixed)
  })

  test.each([
    ['the preflight runs', 0],
    ['the images of its rollback are pulled', 1],
  ])('cancels the rollback of a box while %s', async (_, stepsDone) => {
    const { staged, queued, start, settle, tick, steps, rollBack, show, versions } = await begin()
    await rollBack(staged, 'images')
    await tick()
    await steps(stepsDone)
    await start(await queued())
    await settle()
    await settle() // the box was free only then
    expect((await show(staged)).counts.rollback).toMatchObject({ done: 0, failed: 3 })
    expect(versions()).toEqual(allFixed)
  })

  test('includes a box that was rolled back between its plan and its start', async () => {
    const { staged, queued, start, settle, rollBack, show, versions } = await begin()
    const id = await queued()
    await rollBack(staged, 'images')
    await settle()
    expect(versions()).toMatchObject({ acme: '1.157.1', beta: '1.157.1', cora: '1.157.1' })
    await start(id)
    expect((await show(id)).auditLog.at(-1)).toMatchObject({ action: 'rollout.started', data: { takenIn: ['acme', 'beta', 'cora'] } })
    await settle()
    expect((await show(id)).status).toBe('done')
    expect(versions()).toEqual(allFixed)
  })

  test('refuses rollbacks of boxes until it has finished; a rollout may still end without them', async () => {
    const { staged, queued, start, settle, rollBack, show } = await begin()
    const id = await queued()
    await start(id)
    const refused = { code: 'CONFLICT', message: expect.stringContaining(`the emergency ${id} (CVE-2026-12345) is not finished`) }
    await expect(rollBack(staged, 'images')).rejects.toMatchObject(refused)
    expect((await show(staged)).status).toBe('paused')
    expect(await rollBack(staged, 'none')).toMatchObject({ status: 'rolled_back' })
    expect(await rollBack(id, 'images')).toMatchObject({ status: 'rolled_back' })
    await settle()
  })

  test('refuses to resume a stalled rollback until it has finished', async () => {
    const { deps, staged, queued, start, settle, rollBack, show } = await begin()
    await rollBack(staged, 'images')
    const id = await queued()
    await start(id)
    await expect(resumeRollback(deps, anOperator, { id: staged })).rejects.toMatchObject({ code: 'CONFLICT' })
    await settle()
    expect((await show(id)).status).toBe('done')
    await resumeRollback(deps, anOperator, { id: staged })
    const { counts, auditLog } = await show(staged)
    expect(counts.rollback).toMatchObject({ pending: 3 })
    expect(auditLog.at(-1)).toMatchObject({
      action: 'rollout.rollback.resumed',
      actor: 'admin:anna',
      data: { triedAgain: ['acme', 'beta', 'cora'] },
    })
  })

  test('fails a resumed rollback to the vulnerable version after it has finished', async () => {
    const { deps, staged, queued, start, settle, rollBack, show, versions } = await begin()
    await rollBack(staged, 'images')
    const id = await queued()
    await start(id)
    await settle()
    await resumeRollback(deps, anOperator, { id: staged })
    await settle()
    expect(versions()).toEqual(allFixed)
    const { rollback, status } = (await show(staged)).actions.find(({ tenantSlug }) => tenantSlug === 'acme') ?? {}
    const says = expect.stringMatching(
      new RegExp(`CVE-2026-12345 .*synapse 1.157.1.*fixed in 1.163.2 by emergency ${id}.*snapshots restore acme .*--allow-vulnerable`),
    )
    expect([status, rollback]).toMatchObject(['succeeded', { status: 'failed', error: { code: 'PREFLIGHT_REFUSED', message: says } }])
  })

  test('refuses the plan of a rollback to the vulnerable version after it has finished', async () => {
    const { staged, queued, start, settle, show, rollBack } = await begin()
    await start(await queued())
    await settle()
    const refused = { code: 'PLAN_REFUSED', message: expect.stringContaining('acme: REINTRODUCES_CVE') }
    await expect(rollBack(staged, 'images')).rejects.toMatchObject(refused)
    expect((await show(staged)).status).toBe('paused')
  })

  test('a box that it had left vulnerable may be rolled back with the rollout that fixed it; the plan warns', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const { deps, fates, started, settle, rollBack, installed, clock } = world
    for (const slug of ['cora', 'dora']) fates.set(slug, ['pull-fails'])
    const { id } = await (await world.as()).createEmergency({ body: fixed })
    await startRollout(deps, anAdmin, { id })
    await settle()
    await rollBack(id, 'none')
    await clock.advance(60_000)
    fates.clear()
    fates.set('dora', ['pull-fails'])
    const staged = await started()
    await settle()
    expect(installed.get('cora')?.synapse).toBe('1.163.2')
    const { boxes } = await planRollback(deps, { id: staged, boxes: 'images' })
    const says = expect.stringMatching(
      new RegExp(`will have CVE-2026-12345 .*fixed in 1.163.2 by emergency ${id}.* as before this rollout`),
    )
    expect(boxes.find(({ tenantSlug }) => tenantSlug === 'cora')).toMatchObject({
      does: 'rollback',
      findings: expect.arrayContaining([{ severity: 'warn', code: 'REINTRODUCES_CVE', message: says }]),
    })
    await rollBack(staged, 'images')
    await settle()
    expect(installed.get('cora')?.synapse).toBe('1.157.1')
  })

  test('allows the rollback of other boxes after its own boxes were rolled back', async () => {
    const { deps, fates, installed, staged, queued, start, settle, rollBack, versions } = await begin()
    installed.set('cora', { ...(installed.get('cora') as InstalledVersions), synapse: '1.157.1' })
    await deps.db.updateTable('boxes').set({ installed_synapse: '1.157.1' }).where('slug', '=', 'cora').execute()
    const id = await queued()
    fates.set('dora', ['pull-fails'])
    await start(id)
    await settle()
    expect(versions()).toMatchObject({ cora: '1.163.2' })
    await rollBack(id, 'images')
    await settle()
    await rollBack(staged, 'images', { skipRefused: true })
    await settle()
    expect(versions()).toEqual({ acme: '1.157.1', beta: '1.157.1', cora: '1.157.1', dora: '1.157.1' })
  })
})
