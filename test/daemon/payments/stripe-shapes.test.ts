import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { secret } from '../../../src/core/kit/index.ts'
import { isPaymentFailure, type PaymentProvider } from '../../../src/core/payments/index.ts'
import { eventVerifier, openPaymentProvider } from '../../../src/daemon/payments/index.ts'
import { stripeProvider } from '../../../src/daemon/payments/provider/stripe-provider.ts'
import { aStripeMock, hasStripeMock } from '../../support/payments/stripe-mock.ts'

// The real SDK against stripe-mock, which refuses a call that the provider's OpenAPI document does not allow.
describe.skipIf(!hasStripeMock)('the shape of every call', () => {
  const closers: (() => void)[] = []
  let api = ''
  beforeAll(async () => {
    api = await aStripeMock((close) => void closers.push(close))
  })
  afterAll(() => {
    for (const close of closers) close()
  })

  const open = (collection: 'charge' | 'invoice' = 'charge') =>
    stripeProvider({
      secretKey: secret('sk_test_123'),
      api,
      currency: 'eur',
      collection,
      automaticTax: true,
      verifyEvent: eventVerifier([]),
    })
  const subscription = {
    ...{ customerId: 'cus_1', priceId: 'price_1', metered: false, description: 'Item', metadata: { svc_kind: 'item' } },
    payout: { destination: 'acct_1', applicationFeePercent: 12.5 },
    anchor: null,
  }
  const money = { cents: 1200, currency: 'eur' }
  let count = 0
  const key = () => `key:${++count}`

  const calls: Readonly<Record<string, (provider: PaymentProvider) => Promise<unknown>>> = {
    createAccount: (one) =>
      one.createAccount({ key: key(), name: 'Flows', email: 'a@flows.example', country: 'DE', metadata: { svc_vendor: 'v' } }),
    getAccount: (one) => one.getAccount('acct_1'),
    createAccountLink: (one) =>
      one.createAccountLink({ accountId: 'acct_1', returnUrl: 'https://a.example/r', refreshUrl: 'https://a.example/f' }),
    createCustomer: (one) => one.createCustomer({ key: key(), name: 'School', email: 'a@school.example', metadata: { svc_tenant: 't' } }),
    getCustomer: (one) => one.getCustomer('cus_1'),
    updateCustomer: (one) => one.updateCustomer({ key: key(), id: 'cus_1', email: 'b@school.example', metadata: { a: 'b' } }),
    createSetupLink: (one) => one.createSetupLink({ customerId: 'cus_1', returnUrl: 'https://a.example/' }),
    applySetup: (one) => one.applySetup('cs_1'),
    createProduct: (one) => one.createProduct({ key: key(), name: 'Item', metadata: { svc_item: 'i' } }),
    ensureMeter: (one) => one.ensureMeter({ key: key(), eventName: 'svc_item_1', displayName: 'Item' }),
    createPrice: (one) =>
      one.createPrice({ key: key(), productId: 'prod_1', unit: money, meterId: null, lookupKey: 'item_1', metadata: {} }),
    'createPrice, metered': (one) =>
      one.createPrice({ key: key(), productId: 'prod_1', unit: money, meterId: 'mtr_1', lookupKey: 'item_1', metadata: {} }),
    getPrice: (one) => one.getPrice('price_1'),
    findPrice: (one) => one.findPrice('item_1'),
    deactivatePrice: (one) => one.deactivatePrice({ key: key(), id: 'price_1' }),
    createSubscription: (one) => one.createSubscription({ key: key(), ...subscription }),
    'createSubscription, metered': (one) =>
      one.createSubscription({ key: key(), ...subscription, metered: true, payout: null, anchor: { dayOfMonth: 5, hour: 12 } }),
    getSubscription: (one) => one.getSubscription('sub_1'),
    listSubscriptions: (one) => one.listSubscriptions('cus_1'),
    'updateSubscription, payout': (one) =>
      one.updateSubscription({ key: key(), id: 'sub_1', payout: { destination: 'acct_2', applicationFeePercent: 30 } }),
    'updateSubscription, no payout': (one) => one.updateSubscription({ key: key(), id: 'sub_1', payout: null }),
    'updateSubscription, end': (one) => one.updateSubscription({ key: key(), id: 'sub_1', cancelAtPeriodEnd: true, metadata: { a: 'b' } }),
    cancelSubscription: (one) => one.cancelSubscription({ key: key(), id: 'sub_1' }),
    reportUsage: (one) =>
      one.reportUsage({
        eventName: 'svc_item_1',
        customerId: 'cus_1',
        quantity: 3,
        at: new Date().toISOString(),
        identifier: 'sub:2026-01:1',
      }),
    createInvoiceItem: (one) =>
      one.createInvoiceItem({
        key: key(),
        customerId: 'cus_1',
        amount: money,
        description: 'Usage',
        on: { subscriptionId: 'sub_1' },
        metadata: {},
      }),
    'createInvoiceItem, on a draft': (one) =>
      one.createInvoiceItem({
        ...{ key: key(), customerId: 'cus_1', amount: money, description: 'Module', on: { invoiceId: 'in_1' }, metadata: {} },
      }),
    createInvoice: (one) => one.createInvoice({ key: key(), customerId: 'cus_1', currency: 'eur', description: 'Modules', metadata: {} }),
    'createInvoice, with a payout': (one) =>
      one.createInvoice({
        ...{ key: key(), customerId: 'cus_1', currency: 'eur', description: 'Usage', metadata: {} },
        payout: { destination: 'acct_1', feeCents: 225 },
      }),
    finishInvoice: (one) => one.finishInvoice({ key: key(), invoiceId: 'in_1' }),
    payInvoice: (one) => one.payInvoice({ key: key(), invoiceId: 'in_1' }),
    deleteInvoiceItem: (one) => one.deleteInvoiceItem('ii_1'),
    listInvoiceItems: (one) => one.listInvoiceItems('cus_1'),
    getCharge: (one) => one.getCharge('ch_1'),
    getDispute: (one) => one.getDispute('dp_1'),
    getRefund: (one) => one.getRefund('re_1'),
    getInvoice: (one) => one.getInvoice('in_1'),
    listInvoices: (one) => one.listInvoices({ customerId: 'cus_1', subscriptionId: 'sub_1', status: 'open' }),
    refundInvoice: (one) => one.refundInvoice({ key: key(), invoiceId: 'in_1' }),
    voidInvoice: (one) => one.voidInvoice({ key: key(), invoiceId: 'in_1' }),
    createTransfer: (one) => one.createTransfer({ key: key(), amount: money, destination: 'acct_1', description: 'Payout', metadata: {} }),
    listTransfers: (one) => one.listTransfers('acct_1'),
  }

  test('every call of the port is tried', () => {
    const tried = new Set(Object.keys(calls).map((name) => name.split(',')[0]))
    const asynchronous = Object.keys(open()).filter((name) => name !== 'name' && name !== 'verifyEvent')
    expect([...tried].sort()).toEqual(asynchronous.sort())
  })

  test.each(Object.entries(calls))('%s', async (_, call) => {
    await call(open())
    await call(open('invoice'))
  })

  test('a subscription is read with its period, payout and metadata', async () => {
    const sub = await open().getSubscription('sub_1')
    expect(sub).toMatchObject({ customerId: expect.stringMatching(/^cus_/), itemId: expect.stringMatching(/^si_/), metadata: {} })
    expect([sub?.currentPeriodStart, sub?.currentPeriodEnd].map((time) => new Date(time as string).toISOString())).toHaveLength(2)
  })

  test('what the document does not allow is a failure without the key', async () => {
    const failure = await open()
      .createPrice({ key: key(), productId: 'prod_1', unit: { cents: 1.5, currency: 'eur' }, meterId: null, lookupKey: 'x', metadata: {} })
      .catch((error: unknown) => error)
    expect(isPaymentFailure(failure, 'invalid')).toBe(true)
    expect(String(failure)).not.toContain('sk_test_123')
  })
})

test('a provider that does not answer is unreachable', async () => {
  const provider = stripeProvider({
    ...{ secretKey: secret('sk_test_123'), api: 'http://127.0.0.1:9', currency: 'eur', collection: 'charge', automaticTax: false },
    verifyEvent: eventVerifier([]),
  })
  await expect(provider.getAccount('acct_1')).rejects.toMatchObject({ kind: 'unreachable' })
})

test('without a key every call says which setting is missing', async () => {
  const payments = { currency: 'eur', collection: 'charge', automaticTax: false, transferPayouts: false } as const
  const provider = await openPaymentProvider({ stripe: { webhookSecrets: [] }, payments })
  expect(provider.name).toBe('none')
  await expect(provider.getCustomer('cus_1')).rejects.toThrow('TENANTRY_STRIPE_SECRET_KEY')
})
