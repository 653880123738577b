import { expect, test } from 'vitest'
import { createPaymentCustomer, showTenantBilling } from '../../../../src/daemon/payments/billing/customers.ts'
import { endPayments, noProvider } from '../../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

const operator = { kind: 'admin', accountId: 'adm_1', name: 'olga', role: 'operator', sessionId: 's' } as const

onBothDialects('the customer of a tenant', (fresh) => {
  test('is created once, and each call makes a new link', async () => {
    const room = await aBillingWorld(await fresh())
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    const acme = { slug: 'acme' }
    await expect(createPaymentCustomer(room.deps, operator, acme)).rejects.toMatchObject({ code: 'CONFLICT' })
    const input = { ...acme, billingEmail: 'office@acme.example' }
    await expect(createPaymentCustomer({ ...room.deps, provider: noProvider }, operator, input)).rejects.toMatchObject({
      code: 'PAYMENTS_UNAVAILABLE',
    })
    expect(await showTenantBilling(room.deps, acme)).toMatchObject({ paymentCustomerId: null, billingEmail: null })
    room.double.fault('createCustomer', 'answer lost')
    await expect(createPaymentCustomer(room.deps, operator, input)).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    const first = await createPaymentCustomer(room.deps, operator, input)
    const second = await createPaymentCustomer(room.deps, operator, acme)
    const links = await room.db.selectFrom('audit').select('subject').where('action', '=', 'payment.setup-link').execute()
    expect(links).toEqual([{ subject: 'acme' }, { subject: 'acme' }])
    expect(first).toMatchObject({
      tenant: 'acme',
      billingEmail: 'office@acme.example',
      plan: null,
      setupUrl: expect.stringMatching(/^https:/),
    })
    expect(second.paymentCustomerId).toBe(first.paymentCustomerId)
    expect(second.setupUrl).not.toBe(first.setupUrl)
    expect(room.double.calls.filter(({ operation }) => operation === 'createCustomer').length).toBe(3)
    expect(JSON.stringify(await room.db.selectFrom('audit').selectAll().execute())).not.toMatch(/office@|pay\.example/)
    expect(await showTenantBilling(room.deps, acme)).toMatchObject({ paymentCustomerId: first.paymentCustomerId })
  })

  test('a changed address is sent to the provider once it answers', async () => {
    const room = await aBillingWorld(await fresh())
    const change = (billingEmail: string | null) => room.deps.changeTenant(operator, { slug: 'acme', billingEmail })
    const email = async () => (await room.provider.getCustomer(room.customer.id))?.email
    await change('office@acme.example')
    room.double.fault('getCustomer', 'lost')
    await expect(room.runJobs()).rejects.toThrow('did not answer')
    await change('bills@acme.example')
    await room.runJobs()
    expect(await email()).toBe('bills@acme.example')
    await room.provider.updateCustomer({ key: 'by hand', id: room.customer.id, email: 'x@acme.example' })
    await room.clock.advance(1000)
    await change('bills@acme.example')
    await room.runJobs()
    await room.clock.advance(1000)
    await change(null)
    await room.runJobs()
    expect(await email()).toBeNull()
  })

  test('of a deleted tenant pays nothing any more', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await endPayments(room.deps, { id: 'ten_acme' as never })
    await endPayments(room.deps, { id: 'ten_acme' as never })
    await room.clock.advance(90 * 24 * 60 * 60_000)
    expect([room.money()[0], room.double.liveSubscriptions(room.customer.id)]).toEqual([1000, []])
  })

  test('of a deleted tenant that got another customer pays nothing either; other tenants of that customer do', async () => {
    const room = await aBillingWorld(await fresh())
    const { paymentSubscriptionId } = await room.install()
    const own = room.double.subscriptions.get(paymentSubscriptionId as string)
    if (!own) throw new Error('no subscription')
    room.double.subscriptions.set('sub_other', { ...own, id: 'sub_other', metadata: { ...own.metadata, svc_tenant: 'ten_other' } })
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    await endPayments(room.deps, { id: 'ten_acme' as never })
    expect(room.double.liveSubscriptions(room.customer.id).map(({ id }) => id)).toEqual(['sub_other'])
  })
})
