import { expect, test } from 'vitest'
import { ownBillingContract } from '../../../../src/core/billing/index.ts'
import { makeClient } from '../../../../src/core/contract/index.ts'
import { type PlatformPrincipal, problem } from '../../../../src/core/kit/index.ts'
import { capabilitiesOf } from '../../../../src/core/users/index.ts'
import { noProvider, paymentsFeature } from '../../../../src/daemon/payments/index.ts'
import { loadRoleBook } from '../../../../src/daemon/users/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'
import { servedApp } from '../../../support/served-app.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** The endpoints for users of that role and tenant, as the shipped roles have them. */
async function open(room: Room, deps: Partial<Room['deps']> = {}) {
  const book = await loadRoleBook('config/roles.yaml')
  const authenticate = {
    platform: async (authorization: string | undefined): Promise<PlatformPrincipal> => {
      const [, role = '', tenantSlug = ''] = /^Bearer ([\w-]+)@(\w+)$/.exec(authorization ?? '') ?? []
      if (!role) throw problem('UNAUTHENTICATED', 'no token')
      const user = { userId: `usr_${role}`, tenantId: `ten_${tenantSlug}`, matrixUserId: `@${role}:${tenantSlug}.example` }
      const capabilities = capabilitiesOf(book, { tenantSlug, roles: [role] })
      return { kind: 'user', ...user, tenantSlug, sessionId: 'ses_1', roles: [role], capabilities } as unknown as PlatformPrincipal
    },
  }
  const { url } = await servedApp(paymentsFeature.routes?.({ ...room.deps, ...deps }) ?? [], { authenticate, clock: room.clock })
  const as = (role: string, tenant = 'acme') =>
    makeClient(ownBillingContract, { baseUrl: url, headers: () => ({ connection: 'close', authorization: `Bearer ${role}@${tenant}` }) })
  return { as, roles: Object.keys(book.roles) }
}

const outcome = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  )

/** Another tenant with a customer and an invoice of its own. */
async function anotherTenant({ db, provider, double, clock }: Room) {
  const customer = await provider.createCustomer({ key: 'other', name: 'Other', email: 'o@other.example', metadata: {} })
  await db
    .insertInto('tenants')
    .values({
      ...{ id: 'ten_other', slug: 'other', name: 'Other', plan: 'pro', status: 'active', chat_domain: 'other.example' },
      ...{ created_at: clock.now().toISOString(), feature_flags: '{}', time_zone: null, maintenance_window: null },
      payment_customer_id: customer.id,
    })
    .execute()
  await anInvoice({ provider, customerId: customer.id, cents: 700, key: 'other' })
  return { customer, double }
}

type Invoiced = Readonly<{ provider: Room['provider']; customerId: string; cents: number; key: string; metadata?: Record<string, string> }>

async function anInvoice({ provider, customerId, cents, key, metadata = {} }: Invoiced): Promise<string> {
  const texts = { description: 'Modules', metadata }
  const invoice = await provider.createInvoice({ key: `${key}:invoice`, customerId, currency: 'eur', ...texts })
  const on = { invoiceId: invoice.id }
  await provider.createInvoiceItem({ key: `${key}:item`, customerId, amount: { cents, currency: 'eur' }, on, ...texts })
  await provider.finishInvoice({ key: `${key}:finish`, invoiceId: invoice.id })
  return invoice.id
}

onBothDialects('bills of the own tenant', (fresh) => {
  test('are for the roles that manage them, whatever the endpoint', async () => {
    const room = await aBillingWorld(await fresh())
    const { as, roles } = await open(room)
    const allowed = ['tenant-admin', 'principal']
    for (const role of roles) {
      const expected = allowed.includes(role) ? 'done' : 'FORBIDDEN'
      const api = as(role)
      const body = { billingEmail: 'office@acme.example' }
      const calls = [outcome(api.showOwnBilling()), outcome(api.listOwnInvoices()), outcome(api.openPaymentPage({ body }))]
      expect([role, ...(await Promise.all(calls))]).toEqual([role, expected, expected, expected])
    }
  })

  test('show plan, charges of the month, and paid items with the end of their period', async () => {
    const room = await aBillingWorld(await fresh())
    const { as } = await open(room)
    await room.developer()
    await room.module('attendance', 500)
    const { id } = await room.install()
    const shown = await as('principal').showOwnBilling()
    expect(shown).toMatchObject({
      plan: { name: 'light', subscription: null },
      ...{ billingEmail: null, hasProvider: true },
      next: { month: '2026-03', totalCents: 1500, currency: 'eur', unbilled: [] },
      subscriptions: [{ id, name: 'Visits', status: 'active', paymentStatus: 'ok', priceModel: 'flat-monthly', priceCents: 1000 }],
    })
    expect(shown.next.charges.map(({ kind, cents }) => [kind, cents])).toEqual([
      ['item', 1000],
      ['module', 500],
    ])
    expect(shown.subscriptions[0]?.periodEnd).toBe('2026-04-10T10:00:00.000Z')
    expect(await (await open(room, { provider: noProvider })).as('principal').showOwnBilling()).toMatchObject({ hasProvider: false })
  })

  test('list the final invoices of the own tenant alone, page by page, and none that its customer had for another one', async () => {
    const room = await aBillingWorld(await fresh())
    await anotherTenant(room)
    const ids: string[] = []
    for (const key of ['a', 'b', 'c']) {
      ids.unshift(await anInvoice({ provider: room.provider, customerId: room.customer.id, cents: 300, key }))
      await room.clock.advance(1000)
    }
    const metadata = { svc_modules: 'ten_other:2026-02' }
    await anInvoice({ provider: room.provider, customerId: room.customer.id, cents: 900, key: 'former', metadata })
    await room.provider.createInvoice({ key: 'd', customerId: room.customer.id, currency: 'eur', description: 'draft', metadata: {} })
    const { as } = await open(room)
    const first = await as('principal').listOwnInvoices({ query: { limit: 2 } })
    const second = await as('principal').listOwnInvoices({ query: { limit: 2, cursor: first.nextCursor ?? '' } })
    expect([...first.invoices, ...second.invoices].map(({ id }) => id)).toEqual(ids)
    expect(second.nextCursor).toBeNull()
    const [newest] = ids
    expect(first.invoices[0]).toMatchObject({ status: 'paid', totalCents: 300, currency: 'eur', number: newest?.toUpperCase() })
    expect(first.invoices[0]).toMatchObject({ pageUrl: `https://pay.example/${newest}`, pdfUrl: `https://pay.example/${newest}.pdf` })
    const others = await as('tenant-admin', 'other').listOwnInvoices()
    expect(others.invoices.map(({ totalCents }) => totalCents)).toEqual([700])
    const foreign = await as('tenant-admin', 'other').listOwnInvoices({ query: { cursor: first.nextCursor ?? '' } })
    expect(foreign.invoices.filter(({ id }) => ids.includes(id))).toEqual([])
    room.double.fault('listInvoices', 'lost')
    expect(await outcome(as('principal').listOwnInvoices())).toBe('PAYMENTS_UNAVAILABLE')
  })

  test('lead to the page for the means of payment: its address is asked for once, and the record names who opened it', async () => {
    const room = await aBillingWorld(await fresh())
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    const { as } = await open(room)
    expect(await as('principal').listOwnInvoices()).toEqual({ invoices: [], nextCursor: null })
    expect(await outcome(as('principal').openPaymentPage())).toBe('CONFLICT')
    const { url } = await as('principal').openPaymentPage({ body: { billingEmail: 'office@acme.example' } })
    expect(url).toMatch(/^https:/)
    const again = await as('tenant-admin').openPaymentPage()
    expect(again.url).not.toBe(url)
    const links = room.double.calls.filter(({ operation }) => operation === 'createSetupLink').map(({ input }) => input)
    expect(links).toMatchObject([
      { returnUrl: 'https://platform.example/school/bills' },
      { returnUrl: 'https://platform.example/school/bills' },
    ])
    const audit = room.db.selectFrom('audit').select(['actor', 'subject']).where('action', '=', 'payment.setup-link').orderBy('seq')
    expect(await audit.execute()).toEqual([
      { actor: 'user:@principal:acme.example', subject: 'acme' },
      { actor: 'user:@tenant-admin:acme.example', subject: 'acme' },
    ])
    expect(await as('principal').showOwnBilling()).toMatchObject({ billingEmail: 'office@acme.example' })
    const off = (await open(room, { provider: noProvider })).as('principal')
    expect(await outcome(off.openPaymentPage())).toBe('PAYMENTS_UNAVAILABLE')
  })
})
