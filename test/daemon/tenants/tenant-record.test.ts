import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isProblem, type ProblemCode } from '../../../src/core/kit/index.ts'
import { recordAudit } from '../../../src/daemon/audit/index.ts'
import { endUserSessions } from '../../../src/daemon/sessions/index.ts'
import { endResumedTime, resumedTimeTopic } from '../../../src/daemon/tenants/index.ts'
import { aBoxesWorld, aLiveBox, anApi, anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const wanted = { slug: 'acme', name: 'School acme', plan: 'light', chatDomain: 'acme.example' } as const
const acme = { params: { slug: 'acme' } }
const refusedWith = (code: ProblemCode, why: RegExp) => (error: unknown) => isProblem(error, code) && why.test(error.message)

onBothDialects('the record of a tenant', (fresh) => {
  const aRoom = async () => {
    const room = await aBoxesWorld(await fresh())
    return { room, api: await anApi(room) }
  }
  const lost = (db: Awaited<ReturnType<typeof fresh>>) => db.selectFrom('revocations').select('kind').where('kind', '=', 'tenant').execute()

  test('a tenant is registered alone, and its box joins it', async () => {
    const { room, api } = await aRoom()
    const made = await api.createTenant({ body: { ...wanted, schoolId: 's-1' } })
    expect(made).toMatchObject({
      ...wanted,
      status: 'active',
      schoolId: 's-1',
      orgId: made.id,
      branding: { tenantName: 'School acme', color: null, textColor: null, logoPath: null },
      featureFlags: {},
      homeserver: null,
    })
    await expect(api.createTenant({ body: wanted })).rejects.toSatisfy(refusedWith('ALREADY_EXISTS', /Slug acme/))
    const box = await aLiveBox(room, 'acme')
    const { files, ...shown } = await api.showTenant(acme)
    expect(shown).toEqual({ ...made, homeserver: { boxId: box.id, publicUrl: 'https://acme.example', fenced: false } })
    const none = { count: 0, bytes: 0 }
    const quotaBytes = 1024 ** 3
    expect(files).toEqual({ usedBytes: 0, quotaBytes, kept: none, deleted: none, underWay: none, largestSpaces: [] })
    expect((await api.listTenants()).tenants).toEqual([shown])
  })

  test('a new tenant cannot have a path word as slug, alone or with its box', async () => {
    const { api } = await aRoom()
    for (const slug of ['adopt', 'scan']) {
      const path = { code: 'VALIDATION', details: [{ path: 'slug', reason: expect.stringContaining(slug) }] }
      await expect(api.createTenant({ body: { ...wanted, slug } })).rejects.toMatchObject(path)
      await expect(api.provisionBox({ body: { ...wanted, slug, host: 'host-1' } })).rejects.toMatchObject(path)
    }
  })

  test('an older tenant with a path word as slug is usable like all others, and its box by its id', async () => {
    const { room, api } = await aRoom()
    const scan = { params: { slug: 'scan' } }
    await aLiveBox(room, 'acme')
    for (const table of ['tenants', 'boxes'] as const) await room.db.updateTable(table).set({ slug: 'scan' }).execute()
    const { slug, homeserver } = await api.showTenant(scan)
    expect([slug, (await api.listTenants()).tenants.map((one) => one.slug)]).toEqual(['scan', ['scan']])
    expect((await api.suspendTenant({ ...scan, body: { reason: 'unpaid' } })).status).toBe('suspended')
    const byId = { params: { slug: homeserver?.boxId ?? '' } }
    expect(await api.showBox(byId)).toMatchObject({ slug: 'scan', boxId: homeserver?.boxId })
    expect(await api.changeBox({ ...byId, body: { canary: true } })).toMatchObject({ slug: 'scan', canary: true })
    const { subject } = await room.db.selectFrom('audit').select('subject').where('action', '=', 'box.canary').executeTakeFirstOrThrow()
    expect(subject).toBe('scan')
    await expect(api.showBox(scan)).rejects.toMatchObject({ code: 'METHOD_NOT_ALLOWED' })
    await expect(api.showBox({ params: { slug: `box_${'0'.repeat(20)}` } })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('a change keeps unnamed fields, and replicas reload', async () => {
    const { room, api } = await aRoom()
    const before = await api.createTenant({ body: wanted })
    const changed = await api.changeTenant({
      ...acme,
      body: { plan: 'pro', featureFlags: { newChat: true, old: false }, paymentCustomerId: 'cus_1' },
    })
    expect(changed).toEqual({
      ...before,
      plan: 'pro',
      tier: 'pro',
      featureFlags: { newChat: true, old: false },
      paymentCustomerId: 'cus_1',
    })
    const again = await api.changeTenant({ ...acme, body: { name: 'Acme', featureFlags: { old: null, third: true } } })
    expect(again).toMatchObject({ name: 'Acme', branding: { tenantName: 'Acme' }, featureFlags: { newChat: true, third: true } })
    const named = await api.changeTenant({ ...acme, body: { branding: { tenantName: 'A!', color: '#FFEE00' } } })
    expect(named.branding).toEqual({ tenantName: 'A!', color: '#ffee00', textColor: '#000000', logoPath: null })
    expect(await api.changeTenant({ ...acme, body: { name: 'Acme 2', paymentCustomerId: null } })).toMatchObject({
      branding: { tenantName: 'A!', color: '#ffee00' },
      paymentCustomerId: null,
    })
    // Registration publishes an event too: pages of the new domain are allowed.
    expect(await lost(room.db)).toHaveLength(1 + 4)
    const flags = await room.db.selectFrom('events').select('event_type').where('stream', '=', `tenant:${before.id}`).execute()
    const [flag, rest] = ['tenant.flags_changed', 'tenant.changed']
    expect(flags.map(({ event_type }) => event_type)).toEqual([flag, flag, rest, rest, rest])
  })

  test('a change of all fields and the end of a session do not block each other', async () => {
    const { room, api } = await aRoom()
    await api.createTenant({ body: wanted })
    const { db, clock } = room
    let change: Promise<unknown> | undefined
    await db.transaction().execute(async (tx) => {
      await endUserSessions(tx, clock, { userId: 'usr_1', by: 'disabled' })
      change = api.changeTenant({ ...acme, body: { timeZone: 'Europe/Berlin', featureFlags: { newChat: true } } })
      await setTimeout(300) // it is at the counter of the sequence by now
      await recordAudit(tx, clock, { actor: anOperator, action: 'user.disabled' })
    })
    expect(await change).toMatchObject({ timeZone: 'Europe/Berlin', featureFlags: { newChat: true } })
  })

  test('two tenants cannot have the same billing customer', async () => {
    const { api } = await aRoom()
    await api.createTenant({ body: wanted })
    await api.createTenant({ body: { ...wanted, slug: 'beta', chatDomain: 'beta.example' } })
    await api.changeTenant({ ...acme, body: { paymentCustomerId: 'cus_1' } })
    const second = api.changeTenant({ params: { slug: 'beta' }, body: { paymentCustomerId: 'cus_1' } })
    await expect(second).rejects.toSatisfy(refusedWith('ALREADY_EXISTS', /cus_1/))
  })

  test('a suspended tenant stays suspended until resumed, with one audit entry each', async () => {
    const { room, api } = await aRoom()
    await api.createTenant({ body: wanted })
    expect(await api.suspendTenant({ ...acme, body: { reason: 'unpaid' } })).toMatchObject({
      status: 'suspended',
      suspendedReason: 'unpaid',
    })
    expect(await api.suspendTenant({ ...acme, body: { reason: 'again' } })).toMatchObject({ suspendedReason: 'unpaid' })
    expect(await lost(room.db)).toHaveLength(1 + 1)
    expect(await api.resumeTenant(acme)).toMatchObject({ status: 'active', suspendedReason: null })
    const audit = await room.db.selectFrom('audit').select('action').where('subject', '=', 'acme').orderBy('seq').execute()
    expect(audit.map(({ action }) => action)).toEqual(['tenant.created', 'tenant.suspended', 'tenant.resumed'])
    await expect(api.resumeTenant({ params: { slug: 'nobody' } })).rejects.toSatisfy(
      refusedWith('NOT_FOUND', /Tenant nobody does not exist/),
    )
  })

  test('a tenant is resumed for a time: at its end it is suspended again with an alert, unless the time was extended', async () => {
    const { room, api } = await aRoom()
    const { id: tenantId } = await api.createTenant({ body: wanted })
    const until = (days: number) => new Date(room.clock.now().getTime() + days * 86_400_000).toISOString()
    const resume = (time?: string) => api.resumeTenant({ ...acme, body: time ? { until: time } : {} })
    const end = () => endResumedTime(room)({ tenantId }, { last: false } as never)
    const alerts = () => room.db.selectFrom('alerts').select(['kind', 'status']).execute()
    await expect(resume(until(1)), 'it was never suspended').rejects.toSatisfy(refusedWith('CONFLICT', /was not suspended/))
    await api.suspendTenant({ ...acme, body: { reason: 'unpaid' } })
    for (const days of [0, -1, 91]) await expect(resume(until(days))).rejects.toSatisfy(refusedWith('VALIDATION', /at most 90 days/))
    const cause = { suspendedReason: 'unpaid', suspendedCause: 'operator' }
    expect(await resume(until(1))).toMatchObject({ ...cause, status: 'active', resumedUntil: until(1) })
    await room.clock.advance(12 * 3_600_000)
    expect(await resume(until(1))).toMatchObject({ resumedUntil: until(1) })
    await room.clock.advance(12 * 3_600_000)
    await end()
    expect([(await api.showTenant(acme)).status, await alerts()]).toEqual(['active', []])
    await room.clock.advance(12 * 3_600_000)
    for (const _ of [1, 2]) await end()
    expect(await api.showTenant(acme)).toMatchObject({ ...cause, status: 'suspended', resumedUntil: null })
    expect(await alerts()).toEqual([{ kind: 'suspended_again', status: 'open' }])
    expect(await resume()).toMatchObject({ status: 'active', suspendedReason: null, suspendedCause: null, resumedUntil: null })
    expect(await alerts()).toEqual([{ kind: 'suspended_again', status: 'closed' }])
    const audit = await room.db.selectFrom('audit').select(['actor', 'action']).where('subject', '=', 'acme').orderBy('seq').execute()
    expect(audit.map(({ action }) => action).slice(1)).toEqual([
      ...['tenant.suspended', 'tenant.resumed', 'tenant.resumed', 'tenant.suspended', 'tenant.resumed'],
    ])
    const jobs = await room.db.selectFrom('jobs').select(['topic', 'run_at']).where('topic', '=', resumedTimeTopic).execute()
    expect(jobs).toHaveLength(2)
  })

  test('a Light tenant whose plan ended is resumed for a time only; of a larger plan an operator decides', async () => {
    const { room, api } = await aRoom()
    await api.createTenant({ body: wanted })
    const reason = 'billing: the subscription of the plan ended'
    const ended = { status: 'suspended', suspended_reason: reason, suspended_cause: 'plan_ended' } as const
    await room.db.updateTable('tenants').set(ended).execute()
    await expect(api.resumeTenant(acme)).rejects.toSatisfy(
      refusedWith('CONFLICT', /subscription of its plan ended. fix: create a subscription .* tenantry tenants resume acme --until <date>/),
    )
    const until = new Date(room.clock.now().getTime() + 86_400_000).toISOString()
    expect(await api.resumeTenant({ ...acme, body: { until } })).toMatchObject({ status: 'active', suspendedCause: 'plan_ended' })
    // An operator may suspend it too, which no subscription lifts; nor does it pay the plan.
    await room.db.updateTable('tenants').set(ended).execute()
    expect(await api.suspendTenant({ ...acme, body: { reason: 'abuse' } })).toMatchObject({ suspendedReason: 'abuse' })
    expect(await api.resumeTenant({ ...acme, body: { until } })).toMatchObject({ suspendedReason: reason })
    await api.suspendTenant({ ...acme, body: { reason: 'too early' } })
    await expect(api.resumeTenant(acme)).rejects.toSatisfy(refusedWith('CONFLICT', /subscription of its plan ended/))
    await api.changeTenant({ ...acme, body: { plan: 'pro' } })
    expect(await api.resumeTenant(acme)).toMatchObject({ status: 'active', suspendedCause: null })
  })

  test.each([
    [{ featureFlags: { '1': true } }],
    [{ featureFlags: { a: 'yes' } }],
    [{ branding: { tenantName: '' } }],
    [{ branding: { color: 'red' } }],
    [{ branding: { logoId: 'logo_1' } }],
    [{ branding: {} }],
    [{ chatDomain: 'other.example' }],
    [{ slug: 'other' }],
    [{ name: ' ' }],
  ])('%j is refused', async (body) => {
    const { api } = await aRoom()
    await api.createTenant({ body: wanted })
    await expect(api.changeTenant({ ...acme, body: body as never })).rejects.toSatisfy(refusedWith('VALIDATION', /./))
  })
})
