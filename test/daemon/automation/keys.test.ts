import { expect, test } from 'vitest'
import { anAutomationWorld } from '../../support/automation-world.ts'
import { onBothDialects } from '../../support/databases.ts'

onBothDialects('automation keys', (fresh) => {
  const info = 'GET /tenant-info?slug='

  test('a key acts for its tenants alone, and is stored as a hash', async () => {
    const one = await anAutomationWorld(await fresh())
    const [own, both] = [await one.aKey(['acme']), await one.aKey(['acme', 'other'], 'both')]
    expect(own).toMatch(/^tak_[\w-]{43}$/)
    expect(JSON.stringify(await one.db.selectFrom('automation_keys').selectAll().execute())).not.toContain(own)
    expect((await one.call(own, `${info}acme`)).json).toMatchObject({ tenantId: one.tenantId, slug: 'acme', chatDomain: 'acme.example' })
    expect((await one.call(both, 'GET /tenant-info')).json.message).toContain('a key of several tenants names one')
    expect((await one.call(both, 'GET /tenant-info?chatDomain=other.example')).json).toMatchObject({ tenantId: one.other.tenantId })
    // A tenant of somebody else and none at all are answered alike.
    for (const odd of ['%00', '%20', 'a'.repeat(300), '']) expect((await one.call(own, `${info}${odd}`)).status).toBe(400)
    for (const body of [{}, { tenantId: '\u0000' }, { tenantId: ['x'] }, { tenantId: null }])
      expect((await one.call(own, 'POST /matrix/send', body)).json.code).toBe('VALIDATION')
    const [foreign, missing] = [await one.call(own, `${info}other`), await one.call(own, `${info}nobody`)]
    expect(foreign.json).toEqual(missing.json)
    expect(foreign.json).toMatchObject({ code: 'FORBIDDEN', retryable: false })
  })

  test('without a key, with a wrong, expired or revoked one, and for a suspended tenant nothing is answered', async () => {
    const one = await anAutomationWorld(await fresh())
    const key = await one.aKey(['acme'], 'short', 1)
    const codes = async () => (await one.call(key, `${info}acme`)).json.code
    expect(await codes()).toBe(undefined)
    for (const wrong of [undefined, '', `${key.slice(0, -1)}!`, `tak_${'A'.repeat(43)}`])
      expect((await one.call(wrong, `${info}acme`)).json.code).toBe('UNAUTHENTICATED')
    await one.db.updateTable('tenants').set({ status: 'suspended' }).where('slug', '=', 'acme').execute()
    expect(await codes()).toBe('TENANT_SUSPENDED')
    await one.db.updateTable('tenants').set({ status: 'active' }).where('slug', '=', 'acme').execute()
    await one.clock.advance(24 * 60 * 60_000)
    expect(await codes()).toBe('UNAUTHENTICATED')
    const fresher = await one.aKey(['acme'], 'fresher')
    const { keys } = (await one.call(undefined, 'GET /api/admin/v1/automation-keys')).json
    expect(keys).toMatchObject([
      { name: 'fresher', tenants: ['acme'], expiresAt: null, lastUsedAt: null },
      { name: 'short', lastUsedAt: '2026-01-05T02:00:00.000Z' },
    ])
    expect(JSON.stringify(keys)).not.toContain(fresher)
    expect((await one.call(undefined, `DELETE /api/admin/v1/automation-keys/${keys[0].id}`)).status).toBe(204)
    expect((await one.call(fresher, `${info}acme`)).json.code).toBe('UNAUTHENTICATED')
    expect((await one.call(undefined, `DELETE /api/admin/v1/automation-keys/${keys[0].id}`)).json.code).toBe('NOT_FOUND')
    const actions = (await one.db.selectFrom('audit').select('action').orderBy('seq').execute()).map(({ action }) => action)
    expect(actions.filter((action) => action.startsWith('automation'))).toEqual([
      'automation-key.created',
      'automation-key.created',
      'automation-key.revoked',
    ])
  })

  test('a name is taken once, and an unknown tenant makes no key', async () => {
    const one = await anAutomationWorld(await fresh())
    await one.aKey()
    const create = (body: object) => one.call(undefined, 'POST /api/admin/v1/automation-keys', body)
    expect((await create({ name: 'n8n', tenants: ['other'] })).json.code).toBe('ALREADY_EXISTS')
    expect((await create({ name: 'x', tenants: ['acme', 'nobody'] })).json.code).toBe('NOT_FOUND')
    expect((await create({ name: 'x', tenants: [] })).json.code).toBe('VALIDATION')
    expect(await one.db.selectFrom('automation_keys').selectAll().execute()).toHaveLength(1)
  })

  test('the networks of the settings are a second wall, and a key can be made optional', async () => {
    const far = await anAutomationWorld(await fresh(), { networks: ['10.0.0.0/8'] })
    expect((await far.call(await far.aKey(), `${info}acme`)).json).toMatchObject({ code: 'FORBIDDEN' })
    const open = await anAutomationWorld(await fresh(), { requireKey: false, networks: ['127.0.0.1'] })
    expect((await open.call(undefined, `${info}acme`)).status).toBe(200)
    expect((await open.call(undefined, `${info}nobody`)).json.code).toBe('FORBIDDEN')
    expect((await open.call('tak_wrong', `${info}acme`)).json.code).toBe('UNAUTHENTICATED')
  })
})
