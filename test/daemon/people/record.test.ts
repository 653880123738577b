import { expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import { recordedActions } from '../../../src/core/audit/index.ts'
import type { EndpointShape } from '../../../src/core/contract/index.ts'
import { recordAudit } from '../../../src/daemon/audit/index.ts'
import { grantSupportAccess, useSupportAccess } from '../../../src/daemon/support/support-access.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aPeopleWorld } from '../../support/people-world.ts'

/** Actions whose subject is not the tenant: reviews of the store, rollouts of many boxes, requests that come to nothing. */
const ofOthers =
  /^(store\.(developer-(un)?verified|module-(approved|rejected)|comment-removed)|rollout\.|box\.(check|drill|rehearse_upgrade|canary|released|import|adopt)|tenant\.deleted)/

test('what users and operators do in a tenant is in its record, or named here', () => {
  const shapes = Object.values(api).flatMap((contract) => Object.values(contract) as EndpointShape[])
  const actions = shapes.flatMap(({ auth, path, audit }) => {
    if (audit === undefined || (typeof audit === 'object' && 'none' in audit)) return []
    return ['platform', 'automation'].includes(auth.kind) || /\/:slug|rollouts/.test(path) ? [audit].flat() : []
  })
  expect([...new Set(actions)].filter((action) => recordedActions[action] === undefined && !ofOthers.test(action))).toEqual([])
})

onBothDialects('the record of a tenant', (fresh) => {
  test('shows acts of users and operators without names of operators, newest first, in pages', async () => {
    const world = await aPeopleWorld(await fresh())
    const boss = await world.aUser('boss', ['tenant-admin'])
    const anna = await world.aUser('anna')
    await world.clock.advance(1000)
    await boss.api.changePerson({ params: anna, body: { email: 'anna@school.example', displayName: 'Anna' } })
    await world.clock.advance(1000)
    const principal = {
      kind: 'user',
      userId: boss.userId,
      matrixUserId: '@boss:acme.example',
      tenantId: world.tenantId,
      tenantSlug: 'acme',
    }
    await grantSupportAccess(world, { ...principal, sessionId: 'ses', roles: [], capabilities: [] } as never)
    await world.clock.advance(1000)
    const tenant = { id: world.tenantId, slug: 'acme' }
    const use = { actor: { ...anOperator, name: 'olga' }, tenant, data: { use: 'run', runId: 'run_1', host: 'host-1' } }
    await world.db.transaction().execute((tx) => useSupportAccess(tx, world.clock, use))
    const first = await boss.api.listOwnAudit({ query: { limit: 2 } })
    const second = await boss.api.listOwnAudit({ query: { limit: 2, cursor: String(first.nextCursor) } })
    expect([...first.entries, ...second.entries].slice(0, 3)).toMatchObject([
      { action: 'support.used', actor: { kind: 'operator', matrixUserId: null }, user: null, details: { use: 'run', runId: 'run_1' } },
      { action: 'support.granted', actor: { kind: 'user', matrixUserId: '@boss:acme.example' } },
      { action: 'user.changed', user: 'anna', details: { displayName: 'Anna', email: 'changed' } },
    ])
    const text = JSON.stringify([first, second])
    expect(['olga', 'host-1', 'anna@school.example'].filter((secret) => text.includes(secret))).toEqual([])
    const all = await boss.api.listOwnAudit({ query: { limit: 200 } })
    expect(new Set(all.entries.map(({ id }) => id)).size).toBe(all.entries.length)
    const of = async (query: object) => (await boss.api.listOwnAudit({ query })).entries.map(({ action }) => action)
    const changedAt = String(second.entries[0]?.at)
    expect(await of({ from: changedAt })).toEqual(['support.used', 'support.granted', 'user.changed'])
    expect(await of({ to: changedAt, userId: anna.userId })).toEqual(['user.created'])
    expect(await of({ action: 'support.used' })).toEqual(['support.used'])
    await expect(boss.api.listOwnAudit({ query: { cursor: 'x' } })).rejects.toMatchObject({ code: 'VALIDATION' })
  })

  test('has nothing of subjects that share the name, of other tenants, and of a former tenant with the slug', async () => {
    const world = await aPeopleWorld(await fresh())
    const boss = await world.aUser('boss', ['tenant-admin'])
    await world.aStranger()
    const record = (action: string, subject: string) =>
      world.db
        .transaction()
        .execute((tx) => recordAudit(tx, world.clock, { actor: anOperator, action, subject, data: { reason: 'secret' } }))
    await record('host.revoked', 'acme')
    await record('module.withdrawn', 'acme')
    await record('account.disabled', 'acme')
    await record('user.disabled', 'other/zoe')
    await record('user.disabled', 'acme-2/anna')
    expect((await boss.api.listOwnAudit({ query: { limit: 200 } })).entries.filter(({ details }) => details.reason)).toEqual([])
    await record('user.disabled', 'acme/anna')
    await world.clock.advance(1000)
    await world.db.updateTable('tenants').set({ created_at: world.clock.now().toISOString() }).where('id', '=', world.tenantId).execute()
    expect((await boss.api.listOwnAudit({})).entries).toEqual([])
  })
})
