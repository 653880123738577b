import { describe, expect, test } from 'vitest'
import { makeClient } from '../../../src/core/contract/index.ts'
import { isProblem, type ProblemCode, problem } from '../../../src/core/kit/index.ts'
import { type RolloutEvent, rolloutsContract } from '../../../src/core/rollouts/index.ts'
import { parseWindow } from '../../../src/core/wall-clock/index.ts'
import { applyManifest } from '../../../src/daemon/boxes/index.ts'
import { rolloutsRoutes } from '../../../src/daemon/rollouts/index.ts'
import { changeTenant } from '../../../src/daemon/tenants/change-tenant.ts'
import { aManifest } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { type BoxSpec, type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'
import { servedApp } from '../../support/served-app.ts'

const fleet: readonly BoxSpec[] = [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'prima', plan: 'pro' }]

/** The typed client over HTTP; every answer is checked against the contract. */
async function apiOf(world: RolloutWorld, role: 'viewer' | 'operator' = 'operator', name = anOperator.name) {
  const authenticate = { admin: async () => ({ ...anOperator, role, name }) }
  const { url: baseUrl } = await servedApp(rolloutsRoutes(world.deps), { authenticate, clock: world.clock })
  return makeClient(rolloutsContract, { baseUrl, headers: () => ({ connection: 'close' }) })
}

const refusedWith = (code: ProblemCode, text?: RegExp) =>
  expect.toSatisfy((error: unknown) => isProblem(error, code) && (text === undefined || text.test(error.message)))

onBothDialects('the rollouts api', (fresh) => {
  const begin = async (boxes = fleet) => {
    const world = await rolloutWorld(await fresh(), boxes)
    return { world, api: await apiOf(world) }
  }

  test('a plan is shown and nothing is stored', async () => {
    const { world, api } = await begin()
    const plan = await api.planRollout({ body: {} })
    expect(plan).toMatchObject({ updates: 3, refusals: 0, manifestRevision: 2 })
    expect((await api.listRollouts()).rollouts).toEqual([])
    expect(await world.deps.db.selectFrom('events').selectAll().where('stream', 'like', 'rollout:%').execute()).toEqual([])
  })

  test('an unknown slug is refused by name, an unknown field too', async () => {
    const { api } = await begin()
    await expect(api.planRollout({ body: { targetSlugs: ['nobody'] } })).rejects.toEqual(
      refusedWith('VALIDATION', /there is no box nobody/),
    )
    await expect(api.createRollout({ body: { colour: 'red' } as never })).rejects.toEqual(refusedWith('VALIDATION', /colour/))
  })

  test('create answers the whole rollout, queued, with one action per tenant', async () => {
    const { api } = await begin()
    const created = await api.createRollout({ body: { reason: 'weekly round' } })
    expect(created).toMatchObject({
      kind: 'staged',
      status: 'queued',
      createdBy: 'admin:anna',
      reason: 'weekly round',
      manifestRevision: 2,
    })
    expect(created.actions.map(({ tenantSlug, phase, status }) => [tenantSlug, phase, status])).toEqual([
      ['acme', 'canary', 'pending'],
      ['beta', 'free_5', 'pending'],
      ['prima', 'pro', 'pending'],
    ])
    expect(created.auditLog.map(({ action, actor }) => [action, actor])).toEqual([['rollout.created', 'admin:anna']])
    expect(await api.getRollout({ params: { id: created.id } })).toEqual(created)
  })

  describe('maintenance windows', () => {
    const slug = 'beta'
    const body = { maintenanceWindow: parseWindow('daily 12:00-12:03') }

    test('that are never open for long enough keep a rollout from starting, unless it may ignore them', async () => {
      const { world, api } = await begin()
      await changeTenant(world.deps, anOperator, { slug, ...body })
      expect(await api.planRollout({ body: {} })).toMatchObject({ updates: 2, refusals: 1 })
      expect(await api.planRollout({ body: { ignoreWindows: true } })).toMatchObject({ updates: 3, refusals: 0 })
      const { id } = await api.createRollout({ body: {} })
      await expect(api.startRollout({ params: { id } })).rejects.toEqual(refusedWith('PLAN_REFUSED', /beta: WINDOW_TOO_SHORT/))
      const allowed = await api.createRollout({ body: { ignoreWindows: true } })
      expect(await api.startRollout({ params: { id: allowed.id } })).toMatchObject({ status: 'canary', ignoreWindows: true })
      expect((await api.listRollouts()).rollouts).toContainEqual(expect.objectContaining({ id: allowed.id, ignoreWindows: true }))
    })

    test('of a rollout that waits are told by its list, by itself and by its boxes', async () => {
      const { world, api } = await begin([{ slug: 'acme' }])
      await changeTenant(world.deps, anOperator, { slug: 'acme', maintenanceWindow: parseWindow('daily 12:00-13:00') })
      const id = await world.started()
      await world.settle()
      const waitingUntil = '2026-01-05T12:00:00.000Z'
      expect((await api.listRollouts()).rollouts).toMatchObject([{ id, status: 'canary', waitingUntil }])
      const { plan, actions, ...rollout } = await api.getRollout({ params: { id } })
      expect(rollout).toMatchObject({ waitingUntil, ignoreWindows: false })
      expect(plan.boxes[0]?.window).toEqual({ opensAt: waitingUntil, closesAt: '2026-01-05T13:00:00.000Z' })
      expect(actions[0]).toMatchObject({ status: 'pending', waitsUntil: waitingUntil })
    })
  })

  describe('an Idempotency-Key', () => {
    const key = { headers: { 'idempotency-key': 'ci-run-17' } }

    test('makes a repeated call answer the same rollout, also at the same time', async () => {
      const { api } = await begin()
      const made = await Promise.all([1, 2, 3].map(() => api.createRollout({ body: {} }, key)))
      expect(new Set(made.map(({ id }) => id)).size).toBe(1)
      expect((await api.listRollouts()).rollouts).toHaveLength(1)
    })

    test('brings back what it made also when the plan would be refused by now, and another manifest holds', async () => {
      const { world, api } = await begin()
      const made = await api.createRollout({ body: {} }, key)
      await world.deps.db.updateTable('boxes').set({ managed: 0 }).where('slug', '=', 'beta').execute()
      await world.deps.db.updateTable('tenants').set({ slug: 'gone' }).where('slug', '=', 'acme').execute()
      await applyManifest(world.deps, anOperator, aManifest({ synapse: '1.164.0' }))
      expect(await api.createRollout({ body: {} }, key)).toEqual(made)
      await expect(api.startRollout({ params: { id: made.id } })).resolves.toMatchObject({ status: 'canary' })
      expect(await api.createRollout({ body: {} }, key)).toMatchObject({ id: made.id, status: 'canary' })
    })

    test('finds what its caller made, and nothing of others', async () => {
      const { world, api } = await begin()
      const { id } = await api.createRollout({ body: {} }, key)
      await api.createRollout({ body: {} })
      const foundBy = async (client: typeof api, idempotencyKey: string) =>
        (await client.listRollouts({ query: { idempotencyKey } })).rollouts.map((one) => one.id)
      expect(await foundBy(api, 'ci-run-17')).toEqual([id])
      expect(await foundBy(api, 'ci-run-18')).toEqual([])
      expect(await foundBy(await apiOf(world, 'operator', 'ben'), 'ci-run-17')).toEqual([])
      await expect(foundBy(api, 'two words')).rejects.toEqual(refusedWith('VALIDATION', /idempotencyKey: must be 1 to 200/))
    })

    test('belongs to its options', async () => {
      const { api } = await begin()
      await api.createRollout({ body: {} }, key)
      await expect(api.createRollout({ body: { skipRefused: true } }, key)).rejects.toEqual(
        refusedWith('CONFLICT', /ci-run|with other options/),
      )
    })
  })

  describe('start', () => {
    test('is refused while the plan has refusals, unless they were waived', async () => {
      const { world, api } = await begin([...fleet, { slug: 'wild', managed: false }])
      const targetSlugs = [...fleet.map(({ slug }) => slug), 'wild']
      const { id } = await api.createRollout({ body: { targetSlugs } })
      await expect(api.startRollout({ params: { id } })).rejects.toEqual(refusedWith('PLAN_REFUSED', /wild: NOT_MANAGED/))
      const waived = await api.createRollout({ body: { targetSlugs, skipRefused: true } })
      expect(await world.statuses(waived.id)).toMatchObject({ wild: 'skipped' })
      expect(await api.startRollout({ params: { id: waived.id } })).toMatchObject({ status: 'canary' })
    })

    test('is refused for a chat that would be away for too long, unless that was allowed', async () => {
      const { world, api } = await begin()
      await world.deps.db.updateTable('boxes').set({ database_bytes: 60e9 }).where('slug', '=', 'beta').execute()
      expect(await api.planRollout({ body: {} })).toMatchObject({ updates: 2, refusals: 1 })
      const { id } = await api.createRollout({ body: {} })
      await expect(api.startRollout({ params: { id } })).rejects.toEqual(refusedWith('PLAN_REFUSED', /beta: LONG_FENCE/))
      expect(await api.planRollout({ body: { allowLongFence: true } })).toMatchObject({ updates: 3, refusals: 0, warnings: 1 })
      const allowed = await api.createRollout({ body: { allowLongFence: true } })
      expect(allowed.auditLog[0]).toMatchObject({ action: 'rollout.created', data: { allowLongFence: true } })
      expect(await api.startRollout({ params: { id: allowed.id } })).toMatchObject({ status: 'canary' })
    })

    test('is refused when the plan is older than a day', async () => {
      const { world, api } = await begin()
      const { id } = await api.createRollout({ body: {} })
      await world.clock.advance(86_400_001)
      await expect(api.startRollout({ params: { id } })).rejects.toEqual(refusedWith('PLAN_STALE'))
    })

    test('is refused without somewhere to put snapshots', async () => {
      const world = await rolloutWorld(await fresh(), fleet)
      const assertSnapshotsConfigured = () => {
        throw problem('CONFIG', 'no backup key')
      }
      const api = await apiOf({ ...world, deps: { ...world.deps, assertSnapshotsConfigured } })
      const { id } = await api.createRollout({ body: {} })
      await expect(api.startRollout({ params: { id } })).rejects.toEqual(refusedWith('CONFIG'))
      expect(await api.getRollout({ params: { id } })).toMatchObject({ status: 'queued' })
    })

    test('a second time is an invalid transition', async () => {
      const { api } = await begin()
      const { id } = await api.createRollout({ body: {} })
      await api.startRollout({ params: { id } })
      await expect(api.startRollout({ params: { id } })).rejects.toEqual(refusedWith('INVALID_TRANSITION'))
    })
  })

  test('pause, resume, resume again, rollback: each answers the rollout as it is then', async () => {
    const { api } = await begin()
    const { id } = await api.createRollout({ body: {} })
    const params = { id }
    await expect(api.pauseRollout({ params, body: { reason: 'lunch' } })).rejects.toEqual(refusedWith('INVALID_TRANSITION'))
    await api.startRollout({ params })
    expect(await api.pauseRollout({ params })).toMatchObject({
      status: 'paused',
      previousStatus: 'canary',
      pauseReason: expect.stringMatching(/^paused by /),
    })
    expect(await api.resumeRollout({ params, body: {} })).toMatchObject({ status: 'canary', pauseReason: null })
    expect(await api.resumeRollout({ params, body: {} })).toMatchObject({ status: 'canary' })
    const ended = await api.rollbackRollout({ params, body: { reason: 'wrong version' } })
    expect(ended).toMatchObject({ status: 'rolled_back', error: 'wrong version', counts: { cancelled: 3, rollback: null } })
    expect(ended.auditLog.map(({ action }) => action)).toEqual([
      'rollout.created',
      'rollout.started',
      'rollout.paused',
      'rollout.resumed',
      'rollout.rolled_back',
    ])
    await expect(api.abortRollout({ params, body: {} })).rejects.toEqual(refusedWith('INVALID_TRANSITION'))
  })

  test('a rollback with its boxes: the plan, the call, and what stops and resumes it', async () => {
    const { world, api } = await begin()
    const params = { id: (await api.createRollout({ body: { holdAfter: 'free_100' } })).id }
    await api.startRollout({ params })
    await world.settle()
    const plan = await api.planRollback({ params, body: { boxes: 'images' } })
    expect(plan).toMatchObject({ mode: 'images', rollbacks: 2, refusals: 0, boxes: [{ does: 'rollback' }, { does: 'rollback' }] })
    await expect(api.resumeRollback({ params })).rejects.toEqual(refusedWith('CONFLICT', /rollback/))
    const rolledBack = await api.rollbackRollout({ params, body: { reason: 'wrong version', boxes: 'images' } })
    expect(rolledBack).toMatchObject({ status: 'rolled_back', counts: { rollback: { total: 2, pending: 2 } } })
    await expect(api.rollbackRollout({ params, body: { reason: 'again', boxes: 'images' } })).rejects.toEqual(
      refusedWith('INVALID_TRANSITION'),
    )
    expect((await api.stopRollback({ params, body: { reason: 'not yet' } })).counts.rollback).toMatchObject({ pending: 0, failed: 2 })
    expect((await api.resumeRollback({ params })).counts.rollback).toMatchObject({ pending: 2, failed: 0 })
    await world.settle()
    const { action, attempts } = await api.getRolloutAction({ params: { ...params, slug: 'acme' } })
    expect(action).toMatchObject({ status: 'rolled_back', rolledBack: true, rollback: { mode: 'images', status: 'done', error: null } })
    expect(attempts.map(({ kind }) => kind)).toEqual(['update', 'rollback-images'])
    const viewer = await apiOf(world, 'viewer')
    await expect(viewer.stopRollback({ params, body: { reason: 'not mine' } })).rejects.toEqual(refusedWith('FORBIDDEN'))
    await expect(viewer.planRollback({ params, body: { boxes: 'snapshot' } })).rejects.toEqual(
      refusedWith('INVALID_TRANSITION', /rollback ro_\w+ --resume/),
    )
  })

  test('a rollout with its own pace: its plan, its bake, and a promotion', async () => {
    const { world, api } = await begin()
    const pace = { parallel: 1, bakeMs: 1_800_000 }
    expect(await api.planRollout({ body: pace })).toMatchObject(pace)
    const { id } = await api.createRollout({ body: pace })
    const params = { id }
    expect(await api.startRollout({ params })).toMatchObject({ ...pace, bakeUntil: null })
    await expect(api.promoteRollout({ params })).rejects.toEqual(refusedWith('INVALID_TRANSITION', /neither held after a phase nor baking/))
    await world.settle()
    expect((await api.listRollouts()).rollouts).toMatchObject([{ id, status: 'canary', bakeUntil: expect.any(String) }])
    await expect((await apiOf(world, 'viewer')).promoteRollout({ params })).rejects.toEqual(refusedWith('FORBIDDEN'))
    expect(await api.promoteRollout({ params })).toMatchObject({ status: 'free_5', bakeUntil: null })
    for (const body of [{ parallel: 0 }, { parallel: 51 }, { bakeMs: 999 }, { bakeMs: 8 * 86_400_000 }])
      await expect(api.createRollout({ body })).rejects.toEqual(refusedWith('VALIDATION'))
    await expect(api.planRollout({ body: { kind: 'emergency_cve', toChatServer: '1.163.2', parallel: 1 } })).rejects.toEqual(
      refusedWith('VALIDATION', /must be staged for parallel, bakeMs, fenceMode and snapshotMode/),
    )
  })

  test('every act of a person stands in the log of the admins too', async () => {
    const { world, api } = await begin()
    const { id } = await api.createRollout({ body: {} })
    await api.startRollout({ params: { id } })
    await api.abortRollout({ params: { id }, body: {} })
    await world.settle()
    const rows = await world.deps.db.selectFrom('audit').select(['action', 'subject']).where('chain', '=', 'admin').orderBy('seq').execute()
    const acts = rows.filter(({ subject }) => subject === id).map(({ action }) => action)
    expect(acts).toEqual(['rollout.created', 'rollout.started', 'rollout.failed'])
  })

  test('the list pages from the newest and filters by status and kind', async () => {
    const { world, api } = await begin()
    const ids: string[] = []
    for (let n = 0; n < 5; n++) {
      ids.unshift((await api.createRollout({ body: {} })).id)
      if (n % 2 === 0) await world.clock.advance(1000)
    }
    await api.abortRollout({ params: { id: ids[2] as string }, body: {} })
    const seen: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: { rollouts: { id: string }[]; nextCursor: string | null } = await api.listRollouts({
        query: { limit: 2, ...(cursor ? { cursor } : {}) },
      })
      seen.push(...page.rollouts.map(({ id }) => id))
      cursor = page.nextCursor
    }
    expect([...seen].sort()).toEqual([...ids].sort())
    const failed = await api.listRollouts({ query: { status: 'failed', kind: 'staged' } })
    expect(failed.rollouts).toMatchObject([{ id: ids[2], counts: { total: 3, cancelled: 3 } }])
    expect((await api.listRollouts({ query: { kind: 'emergency_cve' } })).rollouts).toEqual([])
  })

  test('what does not exist is said so', async () => {
    const { api } = await begin()
    const id = 'ro_00000000000000000000'
    await expect(api.getRollout({ params: { id } })).rejects.toEqual(refusedWith('NOT_FOUND', /rollouts list/))
    await expect(api.rolloutEvents({ params: { id } })).rejects.toEqual(refusedWith('NOT_FOUND'))
    await expect(api.getRollout({ params: { id: 'x' } })).rejects.toEqual(refusedWith('VALIDATION'))
    const made = await api.createRollout({ body: {} })
    await expect(api.getRolloutAction({ params: { id: made.id, slug: 'nobody' } })).rejects.toEqual(
      refusedWith('NOT_FOUND', /no box of nobody/),
    )
  })

  test('a viewer looks and does nothing', async () => {
    const world = await rolloutWorld(await fresh(), fleet)
    const api = await apiOf(world, 'viewer')
    await api.planRollout({ body: {} })
    await expect(api.createRollout({ body: {} })).rejects.toEqual(refusedWith('FORBIDDEN'))
  })

  describe('the event stream', () => {
    const read = async (events: AsyncIterable<{ id?: string; event: string; data: RolloutEvent }>) => {
      const seen: { id?: string; event: string; data: RolloutEvent }[] = []
      for await (const message of events) seen.push(message)
      return seen
    }

    test('replays the whole story, continues after the last event seen, and ends with the rollout', async () => {
      const { world, api } = await begin()
      const { id, lastEventId } = await api.createRollout({ body: {} })
      await api.startRollout({ params: { id } })
      await world.settle()
      const story = await read(await api.rolloutEvents({ params: { id } }))
      expect(story.map((message) => message.id)).toEqual(story.map((_, n) => String(n + 1)))
      expect(story.filter(({ event }) => event !== 'rollout.action').map(({ event, data }) => [event, data.status])).toEqual([
        ['rollout.created', 'queued'],
        ['rollout.started', 'canary'],
        ['rollout.phase', 'free_5'],
        ['rollout.phase', 'free_100'],
        ['rollout.phase', 'pro'],
        ['rollout.phase', 'enterprise'],
        ['rollout.done', 'done'],
      ])
      expect(story.filter(({ data }) => data.action?.tenantSlug === 'acme').map(({ data }) => data.action?.status)).toEqual([
        'preflight',
        'pulling',
        'pulling',
        'succeeded',
      ])
      const rest = await read(await api.rolloutEvents({ params: { id } }, { lastEventId }))
      expect(rest).toEqual(story.slice(Number(lastEventId)))
      await expect(api.rolloutEvents({ params: { id } }, { lastEventId: 'x' })).rejects.toEqual(refusedWith('VALIDATION'))
      // Such an id is from before the database was put back: who waited for the next one would see nothing of what happens now.
      const beyond = api.rolloutEvents({ params: { id } }, { lastEventId: String(story.length + 1) })
      await expect(beyond).rejects.toEqual(refusedWith('VALIDATION', /ends at event/))
    })

    test('tells at once what happens in this process, and within a second what another replica does', async () => {
      const { world, api } = await begin()
      const { id, lastEventId } = await api.createRollout({ body: {} })
      const leaves = new AbortController()
      const events = (await api.rolloutEvents({ params: { id } }, { lastEventId, signal: leaves.signal }))[Symbol.asyncIterator]()
      await api.startRollout({ params: { id } })
      expect((await events.next()).value).toMatchObject({ event: 'rollout.started' })
      const elsewhere = await apiOf({
        ...world,
        deps: { ...world.deps, rolloutBus: { changed: () => undefined, listen: world.deps.rolloutBus.listen } },
      })
      const told = events.next()
      await elsewhere.pauseRollout({ params: { id }, body: { reason: 'lunch' } })
      while (world.clock.sleepers() === 0) await new Promise((resolve) => setImmediate(resolve))
      await world.clock.advance(1000)
      expect((await told).value).toMatchObject({ event: 'rollout.paused', data: { reason: 'lunch', previousStatus: 'canary' } })
      leaves.abort()
    })
  })
})
