import { describe, expect, test } from 'vitest'
import { isProblem, type ProblemCode } from '../../../src/core/kit/index.ts'
import { abortRollout, pauseRollout, resumeRollout, startRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { anAdmin, anOrder, aTokenActor, emergencyWorld } from '../../support/emergencies.ts'
import type { BoxSpec } from '../../support/rollout-world.ts'

const fleet: readonly BoxSpec[] = [
  { slug: 'acme', canary: true },
  { slug: 'beta' },
  { slug: 'prima', plan: 'pro' },
  { slug: 'magna', plan: 'dedicated' },
]
const refusedWith = (code: ProblemCode, text?: RegExp) =>
  expect.toSatisfy((error: unknown) => isProblem(error, code) && (text === undefined || text.test(error.message)))

onBothDialects('a running emergency', (fresh) => {
  const begin = async (boxes = fleet) => {
    const world = await emergencyWorld(await fresh(), boxes)
    const { deps } = world
    const api = await world.as()
    const queued = async (change: Partial<typeof anOrder> = {}) => (await api.createEmergency({ body: { ...anOrder, ...change } })).id
    const start = (id: string, change: { skipRefused?: boolean } = {}) => startRollout(deps, anAdmin, { id, ...change })
    const resume = (id: string) => resumeRollout(deps, anOperator, { id, skipFailed: false })
    return { ...world, api, queued, start, resume }
  }

  test('updates pro, then enterprise, then free', async () => {
    const { queued, start, settle, show } = await begin()
    const id = await queued()
    expect(await start(id)).toMatchObject({ status: 'pro' })
    await settle()
    const { status, actions, auditLog } = await show(id)
    expect(status).toBe('done')
    expect(actions.every((action) => action.status === 'succeeded' && action.to.synapse === '1.163.4')).toBe(true)
    expect(auditLog.filter(({ action }) => action === 'rollout.phase').map(({ data }) => data.to)).toEqual(['enterprise', 'free_100'])
    const order = auditLog.filter(({ action }) => action === 'rollout.action.begun').map(({ data }) => data.slug)
    expect(order).toEqual(['prima', 'magna', 'acme', 'beta'])
  })

  test('is started by admins who logged in, and may be stopped by operators', async () => {
    const { deps, queued, start } = await begin()
    const id = await queued()
    await expect(startRollout(deps, anOperator, { id })).rejects.toEqual(
      refusedWith('FORBIDDEN', /needs the role admin; anna has the role operator/),
    )
    await expect(startRollout(deps, aTokenActor, { id })).rejects.toEqual(refusedWith('FORBIDDEN', /API tokens may not start an emergency/))
    await start(id)
    expect(await pauseRollout(deps, anOperator, { id, reason: 'one moment' })).toMatchObject({ status: 'paused' })
  })

  test('raises an alert that it started, with the rollouts that it paused', async () => {
    const { deps, queued, start, started } = await begin()
    const staged = await started()
    const id = await queued()
    await start(id)
    const alerts = await deps.db
      .selectFrom('alerts')
      .select(['kind', 'subject', 'body'])
      .where('kind', '=', 'emergency')
      .where('status', '=', 'open')
      .execute()
    expect(alerts).toEqual([{ kind: 'emergency', subject: id, body: expect.stringContaining(staged) }])
  })

  describe('and a staged rollout', () => {
    test('pauses when it starts, with a reason that names it; a queued or paused one stays so', async () => {
      const { deps, queued, start, started, show, api } = await begin()
      const [running, waiting] = [await started({ targetSlugs: ['acme'] }), (await api.createRollout({ body: {} })).id]
      const paused = await started({ targetSlugs: ['beta'] })
      await pauseRollout(deps, anOperator, { id: paused, reason: 'the weekend' })
      const id = await queued()
      await start(id)
      expect(await show(running)).toMatchObject({
        status: 'paused',
        previousStatus: 'canary',
        pauseReason: expect.stringContaining(`${id} (CVE-2026-12345)`),
      })
      expect((await show(running)).auditLog.at(-1)).toMatchObject({
        action: 'rollout.paused',
        actor: 'admin:anna',
        data: { emergency: id },
      })
      expect(await show(waiting)).toMatchObject({ status: 'queued' })
      expect(await show(paused)).toMatchObject({ status: 'paused', pauseReason: 'the weekend' })
      expect((await show(id)).auditLog.at(-1)).toMatchObject({ action: 'rollout.started', data: { paused: [running] } })
    })

    test('is neither started nor resumed until it has finished, even while it is paused', async () => {
      const { deps, queued, start, started, resume, settle, api, show } = await begin()
      const running = await started()
      const waiting = (await api.createRollout({ body: {} })).id
      const id = await queued()
      await start(id)
      const refused = refusedWith('CONFLICT', new RegExp(`the emergency ${id} \\(CVE-2026-12345\\) is not finished`))
      await expect(resume(running)).rejects.toEqual(refused)
      await expect(startRollout(deps, anOperator, { id: waiting })).rejects.toEqual(refused)
      await pauseRollout(deps, anOperator, { id, reason: 'one moment' })
      await expect(resume(running)).rejects.toEqual(refused)
      await resume(id)
      await settle()
      expect((await show(id)).status).toBe('done')
      expect(await resume(running)).toMatchObject({ status: 'canary' })
    })

    test('continues beside an emergency that has not started', async () => {
      const { queued, started, settle, show } = await begin()
      const staged = await started()
      await queued()
      await settle()
      expect((await show(staged)).status).toBe('done')
    })

    test('finishes its boxes in flight, and the emergency waits for each of them by name', async () => {
      const { queued, start, started, tick, open, work, settle, show, heartbeat } = await begin([
        { slug: 'prima', plan: 'pro', canary: true },
        { slug: 'secunda', plan: 'pro' },
      ])
      const staged = await started()
      await tick()
      const [underWay] = await open()
      const id = await queued()
      await start(id)
      await tick()
      const waits = (await show(id)).actions.find(({ tenantSlug }) => tenantSlug === 'prima')
      expect(waits).toMatchObject({
        status: 'pending',
        progress: { step: 'wait', detail: expect.stringContaining(`on hold: rollout ${staged}`) },
      })
      // Nobody acts on a box beside another: all that is ordered for it belongs to the staged rollout.
      expect((await open()).map((command) => command.id).filter((one) => one.includes('.prima.'))).toEqual([underWay?.id])
      if (underWay) await work(underWay)
      await heartbeat()
      await settle()
      expect(await show(staged)).toMatchObject({ status: 'paused', counts: { succeeded: 1, pending: 1 } })
      const { status, actions } = await show(id)
      expect([status, actions.map(({ from, to }) => [from.synapse, to.synapse])]).toEqual([
        'done',
        [
          ['1.163.2', '1.163.4'],
          ['1.157.1', '1.163.4'],
        ],
      ])
    })

    test('checks each box again when it is resumed, and skips newer boxes with a warning', async () => {
      const { queued, start, started, resume, settle, show, statuses } = await begin()
      const staged = await started()
      const id = await queued()
      await start(id)
      await settle()
      await resume(staged)
      await settle()
      expect(await statuses(staged)).toEqual({ acme: 'skipped', beta: 'skipped', prima: 'skipped', magna: 'skipped' })
      const { status, actions } = await show(staged)
      expect(status).toBe('done')
      for (const { findings, from, error } of actions) {
        expect(findings).toEqual([{ severity: 'warn', code: 'AHEAD_OF_PLAN', message: expect.stringContaining(id) }])
        expect([from.synapse, error]).toEqual(['1.163.4', null])
      }
    })

    test('fails a box that is newer without an emergency', async () => {
      const { started, installed, settle, statuses } = await begin([{ slug: 'acme' }])
      installed.set('acme', { migrationsHead: '0000', postgres: '17.6', synapse: '1.163.4', minio: 'RELEASE.2025-09-07T16-13-09Z' })
      const staged = await started()
      await settle()
      expect(await statuses(staged)).toEqual({ acme: 'failed' })
    })
  })

  describe('and a second one', () => {
    test('is queued, but not started before the first has finished', async () => {
      const { deps, queued, start, settle, show } = await begin()
      const first = await queued()
      const second = await queued({ toChatServer: '1.163.5' })
      await start(first)
      await expect(start(second)).rejects.toEqual(
        refusedWith('CONFLICT', new RegExp(`${first}.*a second emergency is created again and started after it`)),
      )
      await abortRollout(deps, anAdmin, { id: first })
      await settle()
      // The first one applied its manifest after the approval of the second.
      await expect(start(second)).rejects.toEqual(refusedWith('PLAN_STALE', /another manifest was applied after/))
      const again = await queued({ toChatServer: '1.163.5' })
      await start(again)
      await settle()
      expect((await show(again)).actions.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded'])
    })

    test('started at the same time: one of them starts', async () => {
      const { queued, start, show } = await begin()
      const ids = [await queued(), await queued({ toChatServer: '1.163.5' }), await queued({ toChatServer: '1.163.6' })]
      const ends = await Promise.allSettled(ids.map((id) => start(id)))
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const end of ends) if (end.status === 'rejected') expect(end.reason).toEqual(refusedWith('CONFLICT'))
      expect((await Promise.all(ids.map(show))).map(({ status }) => status).toSorted()).toEqual(['pro', 'queued', 'queued'])
    })
  })

  test('starts while staged rollouts start, pause, resume and run: none runs beside it, and no transaction deadlocks', async () => {
    const { deps, queued, start, started, resume, api, show, tick } = await begin()
    const waiting = await Promise.all(Array.from({ length: 4 }, async () => (await api.createRollout({ body: {} })).id))
    const running = [await started({ targetSlugs: ['acme'] }), await started({ targetSlugs: ['beta'] })]
    const paused = await started({ targetSlugs: ['magna'] })
    await pauseRollout(deps, anOperator, { id: paused, reason: 'for a moment' })
    const id = await queued()
    const ends = await Promise.allSettled([
      ...waiting.slice(0, 2).map((one) => startRollout(deps, anOperator, { id: one, queue: true })),
      tick(),
      start(id),
      ...waiting.slice(2).map((one) => startRollout(deps, anOperator, { id: one, queue: true })),
      resume(paused),
      ...running.map((one) => pauseRollout(deps, anOperator, { id: one, reason: 'me too' })),
      tick(),
    ])
    for (const end of ends) if (end.status === 'rejected') expect(['CONFLICT', 'INVALID_TRANSITION']).toContain(end.reason.code)
    expect((await show(id)).status).toBe('pro')
    for (const one of [...waiting, ...running, paused]) expect(['paused', 'queued']).toContain((await show(one)).status)
  })

  test('starts without blocked boxes only with skipRefused', async () => {
    const { deps, queued, start, settle, statuses, show } = await begin()
    await deps.db.updateTable('hosts').set({ last_seen_at: '2026-01-01T00:00:00.000Z' }).where('name', '=', 'host-of-beta').execute()
    const id = await queued()
    await expect(start(id)).rejects.toEqual(
      refusedWith('PLAN_REFUSED', new RegExp(`beta: HOST_OFFLINE.*tenantry rollouts start ${id} --skip-refused`)),
    )
    expect(await start(id, { skipRefused: true })).toMatchObject({ status: 'pro', skipRefused: true })
    await settle()
    expect(await statuses(id)).toMatchObject({ beta: 'skipped', acme: 'succeeded' })
    const { auditLog, actions } = await show(id)
    expect(auditLog.find(({ action }) => action === 'rollout.started')?.data).toMatchObject({ leftOut: ['beta'] })
    expect(actions.find(({ tenantSlug }) => tenantSlug === 'beta')?.findings).toMatchObject([{ code: 'HOST_OFFLINE' }, {}])
  })

  test('with a plan that is a day old is not started', async () => {
    const { clock, queued, start } = await begin()
    const id = await queued()
    await clock.advance(86_400_001)
    await expect(start(id)).rejects.toEqual(refusedWith('PLAN_STALE', /tenantry rollouts emergency/))
  })

  test('an empty call still starts it, and an unknown field is refused', async () => {
    const { api, queued } = await begin()
    const id = await queued()
    await expect(api.startRollout({ params: { id }, body: { colour: 'red' } as never })).rejects.toEqual(
      refusedWith('VALIDATION', /colour/),
    )
    expect(await api.startRollout({ params: { id } })).toMatchObject({ status: 'pro' })
  })
})
