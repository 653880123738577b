import { describe, expect, test } from 'vitest'
import { isProblem, type ProblemCode } from '../../../src/core/kit/index.ts'
import { applyManifest, currentManifest } from '../../../src/daemon/boxes/index.ts'
import { startRollout } from '../../../src/daemon/rollouts/testing.ts'
import { aManifest } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { inBetween, onBothDialects } from '../../support/databases.ts'
import { anAdmin, anOrder, emergencyWorld } from '../../support/emergencies.ts'
import type { BoxSpec } from '../../support/rollout-world.ts'

const fleet: readonly BoxSpec[] = [
  { slug: 'acme', canary: true },
  { slug: 'prima', plan: 'pro' },
  { slug: 'magna', plan: 'dedicated' },
]
const wrong = { ...anOrder, approvalToken: 'not-the-token' }

const refusedWith = (code: ProblemCode, text?: RegExp) =>
  expect.toSatisfy((error: unknown) => isProblem(error, code) && (text === undefined || text.test(error.message)))

onBothDialects('an emergency', (fresh) => {
  test('is queued for the whole fleet, paying tenants first, with a new manifest for all tiers', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const api = await world.as()
    const made = await api.createEmergency({ body: anOrder })
    expect(made.id).toMatch(/^cve-20260105-[0-9a-z]{8}$/)
    expect(made).toMatchObject({
      kind: 'emergency_cve',
      status: 'queued',
      cveId: 'CVE-2026-12345',
      reason: anOrder.reason,
      triggeredBy: 'anna, on call',
      createdBy: 'admin:anna',
      manifestRevision: 3,
      targetSlugs: null,
    })
    expect(made.plan.phases.map(({ phase, slugs }) => [phase, slugs])).toEqual([
      ['pro', ['prima']],
      ['enterprise', ['magna']],
      ['free_100', ['acme']],
    ])
    expect((await currentManifest(world.deps.db)).revision, 'it is applied by the start').toBe(2)
    await api.startRollout({ params: { id: made.id } })
    const { revision, manifest, appliedBy } = await currentManifest(world.deps.db)
    expect([revision, manifest, appliedBy]).toEqual([3, aManifest({ synapse: '1.163.4' }), 'admin:anna'])
    expect(made.targets).toEqual(manifest.tiers)
  })

  test('keeps the manifest versions of components that it does not name, in each tier', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const base = aManifest({ synapse: '1.163.2' })
    const mixed = { ...base, tiers: { ...base.tiers, pro: { ...base.tiers.pro, postgres: '17.7' } } }
    await applyManifest(world.deps, anOperator, mixed)
    const { toChatServer, ...rest } = anOrder
    const api = await world.as()
    const { id } = await api.createEmergency({ body: { ...rest, toObjectStore: 'RELEASE.2026-02-12T20-18-48Z' } })
    await api.startRollout({ params: { id } })
    const moved = (tier: 'free' | 'pro' | 'enterprise') => ({ ...mixed.tiers[tier], minio: 'RELEASE.2026-02-12T20-18-48Z' })
    expect((await currentManifest(world.deps.db)).manifest.tiers).toEqual({
      free: moved('free'),
      pro: moved('pro'),
      enterprise: moved('enterprise'),
    })
  })

  test('is in the audit log with the account and the person who decided it, and raises an alert', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const api = await world.as()
    const { id, auditLog } = await api.createEmergency({ body: anOrder })
    const created = await world.deps.db.selectFrom('alerts').select(['kind', 'subject', 'body']).execute()
    expect(created).toEqual([{ kind: 'emergency', subject: id, body: expect.stringContaining('anna, on call') }])
    await api.startRollout({ params: { id } })
    expect(auditLog).toMatchObject([
      {
        action: 'rollout.created',
        actor: 'admin:anna',
        data: { cveId: 'CVE-2026-12345', triggeredBy: 'anna, on call', targets: { toChatServer: '1.163.4' } },
      },
    ])
    const entries = await world.deps.db
      .selectFrom('audit')
      .selectAll()
      .where('chain', '=', 'admin')
      .orderBy('seq', 'desc')
      .limit(2)
      .execute()
    expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
      ['manifest.applied', 'admin:anna'],
      ['rollout.started', 'admin:anna'],
    ])
    expect(JSON.parse(entries[0]?.data ?? '')).toMatchObject({ revision: 3, rolloutId: id })
  })

  test('is not started after another manifest was applied: its changes would reach all boxes without a canary', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const { deps } = world
    const other = aManifest({ synapse: '1.163.2', postgres: '17.7' })
    const { id } = await (await world.as()).createEmergency({ body: anOrder })
    const db = inBetween(deps.db, () => applyManifest(deps, anOperator, other))
    const stale = refusedWith('PLAN_STALE', /another manifest was applied after/)
    await expect(startRollout({ ...deps, db }, anAdmin, { id }), 'at the same moment').rejects.toEqual(stale)
    await expect(startRollout(deps, anAdmin, { id })).rejects.toEqual(stale)
    expect((await currentManifest(deps.db)).manifest).toEqual(other)
  })

  test('its plan is made again by its start: boxes that were blocked or added since are updated, and each box left out is named', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const { db } = world.deps
    const api = await world.as()
    const manage = (slug: string, managed: 0 | 1) => db.updateTable('boxes').set({ managed }).where('slug', '=', slug).execute()
    const hosts = (status: 'active' | 'revoked') => db.updateTable('hosts').set({ status }).execute()
    const body = async () =>
      (await db.selectFrom('alerts').select('body').where('kind', '=', 'emergency').where('status', '=', 'open').executeTakeFirstOrThrow())
        .body
    for (const slug of ['acme', 'prima']) await manage(slug, 0)
    await hosts('revoked')
    const { id, plan } = await api.createEmergency({ body: anOrder })
    expect(plan).toMatchObject({ updates: 0, refusals: 1 })
    expect(await body()).toMatch(/Left out \(3\): acme: NOT_MANAGED; magna: HOST_OFFLINE; prima: NOT_MANAGED\./)
    await expect(api.startRollout({ params: { id } })).rejects.toEqual(refusedWith('PLAN_REFUSED', /magna: HOST_OFFLINE/))
    expect((await currentManifest(db)).revision, 'a refused start leaves no revision').toBe(2)
    await hosts('active')
    await manage('prima', 1)
    await api.startRollout({ params: { id } })
    expect(await body()).toContain('Left out (1): acme: NOT_MANAGED.')
    const { plan: again, actions } = await api.getRollout({ params: { id } })
    expect(again).toMatchObject({ updates: 2, refusals: 0 })
    expect(actions.map(({ tenantSlug, status }) => [tenantSlug, status])).toEqual([
      ['acme', 'skipped'],
      ['magna', 'pending'],
      ['prima', 'pending'],
    ])
  })

  test('an emergency that never starts leaves no manifest revision', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const api = await world.as()
    const { id } = await api.createEmergency({ body: anOrder })
    await api.abortRollout({ params: { id } })
    expect((await currentManifest(world.deps.db)).revision).toBe(2)
  })

  test('created at the same time: none is lost', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const api = await world.as()
    const made = await Promise.all(
      ['1.163.5', '1.163.6', '1.163.7'].map((toChatServer) => api.createEmergency({ body: { ...anOrder, toChatServer } })),
    )
    expect(new Set(made.map(({ id }) => id)).size).toBe(3)
  })

  test('its plan shows its versions, stores nothing and needs no token', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const staged = await world.started()
    const plan = await (await world.as(anOperator)).planRollout({ body: { kind: 'emergency_cve', toChatServer: '1.163.4' } })
    expect(plan).toMatchObject({ kind: 'emergency_cve', manifestRevision: 3, updates: 3, pauses: [staged] })
    expect(plan.boxes.map(({ to }) => to.synapse)).toEqual(['1.163.4', '1.163.4', '1.163.4'])
    expect((await currentManifest(world.deps.db)).revision).toBe(2)
  })

  test.each([
    [{ toChatServer: '1.163.4' }, /kind/],
    [{ kind: 'emergency_cve' as const }, /at least one target/],
    [{ kind: 'emergency_cve' as const, toChatServer: '1.163.4', targetSlugs: ['acme'] }, /whole fleet/],
    [{ kind: 'emergency_cve' as const, toMigrationsHead: '0009' }, /the last box migration is 0000/],
  ])('an incomplete emergency plan is refused: %j', async (body, says) => {
    const world = await emergencyWorld(await fresh(), fleet)
    await expect((await world.as()).planRollout({ body })).rejects.toEqual(refusedWith('VALIDATION', says))
  })

  test('includes a box with a long downtime, with a warning', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    await world.deps.db.updateTable('boxes').set({ database_bytes: 60e9 }).where('slug', '=', 'acme').execute()
    const { plan } = await (await world.as()).createEmergency({ body: anOrder })
    expect(plan).toMatchObject({ updates: 3, refusals: 0 })
    expect(plan.boxes.find(({ tenantSlug }) => tenantSlug === 'acme')?.findings).toContainEqual(
      expect.objectContaining({ severity: 'warn', code: 'LONG_FENCE' }),
    )
  })

  describe('with an Idempotency-Key', () => {
    const key = { headers: { 'idempotency-key': 'pager-17' } }

    test('is created once, even if the call is sent three times at once', async () => {
      const world = await emergencyWorld(await fresh(), fleet)
      const api = await world.as()
      const made = await Promise.all([1, 2, 3].map(() => api.createEmergency({ body: anOrder }, key)))
      expect(new Set(made.map(({ id }) => id)).size).toBe(1)
      expect((await world.deps.db.selectFrom('rollouts').select('id').execute()).length).toBe(1)
    })

    test('a repeated call needs the token, and another body is a conflict', async () => {
      const world = await emergencyWorld(await fresh(), fleet)
      const api = await world.as()
      await api.createEmergency({ body: anOrder }, key)
      await expect(api.createEmergency({ body: { ...anOrder, toChatServer: '1.163.5' } }, key)).rejects.toEqual(refusedWith('CONFLICT'))
      await expect(api.createEmergency({ body: wrong }, key)).rejects.toEqual(refusedWith('AUTH'))
    })
  })
})
