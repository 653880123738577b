import { expect, test } from 'vitest'
import { reconcilePage } from '../../../../src/daemon/payments/billing/reconcile.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

/** Tenants with a customer each, and a provider that takes 15 seconds to find one. */
async function aSlowWorld(...[db]: Parameters<typeof aBillingWorld>) {
  const room = await aBillingWorld(db)
  const calls: string[] = []
  for (const slug of ['bach', 'cranz', 'dorn']) {
    const { id } = await room.provider.createCustomer({ key: slug, name: slug, email: `${slug}@example.org`, metadata: {} })
    await room.db
      .insertInto('tenants')
      .values({
        ...{ id: `ten_${slug}`, slug, name: slug, plan: 'light', status: 'active', chat_domain: `${slug}.example`, feature_flags: '{}' },
        ...{ created_at: room.clock.now().toISOString(), time_zone: null, maintenance_window: null, payment_customer_id: id },
      })
      .execute()
  }
  const getCustomer = async (id: string) => {
    calls.push(id)
    await room.clock.advance(15_000)
    return room.provider.getCustomer(id)
  }
  return { calls, room, deps: { ...room.deps, provider: { ...room.provider, getCustomer } } }
}

onBothDialects('a page of the comparison', (fresh) => {
  test('ends after 20 seconds, and the next one continues behind it', async () => {
    const { deps } = await aSlowWorld(await fresh())
    const pages: (readonly [number, string | null])[] = []
    for (let cursor: string | undefined, isMore = true; isMore; ) {
      const { checked, nextCursor } = await reconcilePage(deps, { limit: 20, cursor })
      pages.push([checked, nextCursor])
      cursor = nextCursor ?? undefined
      isMore = nextCursor !== null
    }
    expect(pages).toEqual([
      [2, 'bach'],
      [2, null],
    ])
  })

  test('of the daily comparison is a job: a restart repeats only one page, and the alert counts all', async () => {
    const { deps, room } = await aSlowWorld(await fresh())
    const lost = await room.db.selectFrom('tenants').select('payment_customer_id').where('slug', 'in', ['acme', 'dorn']).execute()
    for (const { payment_customer_id: id } of lost) room.double.deleteCustomer(id as string)
    expect(await room.run('billing-reconcile', deps)).toBe('1 difference in 2 tenants; 2 differences in 4 tenants')
    const { title, body } = await room.db.selectFrom('alerts').select(['title', 'body']).executeTakeFirstOrThrow()
    expect([title, body]).toEqual(['2 differences with the payment provider', expect.stringContaining('customer_missing of acme')])
  })

  test('of one tenant asks about no other one', async () => {
    const { deps, calls } = await aSlowWorld(await fresh())
    expect(await reconcilePage(deps, { limit: 20, tenant: 'cranz' })).toMatchObject({ differences: [], checked: 1, nextCursor: null })
    expect(calls).toHaveLength(1)
    await expect(reconcilePage(deps, { limit: 20, tenant: 'nobody' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
