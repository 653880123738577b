import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { paymentDouble, readyAccount } from '../../support/payments/provider-double.ts'

const dayMs = 24 * 60 * 60_000
const eur = (cents: number) => ({ cents, currency: 'eur' })

async function shop(start = '2026-01-31T10:00:00.000Z', options: Parameters<typeof paymentDouble>[1] = {}) {
  const clock = manualClock(start)
  const double = paymentDouble(clock, options)
  const { provider } = double
  const account = await provider.createAccount({ key: 'a', name: 'Flows', email: 'a@flows.example', country: 'DE', metadata: {} })
  double.setAccount(account.id, readyAccount)
  const customer = await provider.createCustomer({ key: 'c', name: 'School', email: 'a@school.example', metadata: {} })
  const product = await provider.createProduct({ key: 'p', name: 'Item', metadata: {} })
  const meter = await provider.ensureMeter({ key: 'm', eventName: 'item_1', displayName: 'Item' })
  const flat = await provider.createPrice({
    key: 'pf',
    productId: product.id,
    unit: eur(1000),
    meterId: null,
    lookupKey: 'flat',
    metadata: {},
  })
  const metered = await provider.createPrice({
    key: 'pm',
    productId: product.id,
    unit: eur(150),
    meterId: meter.id,
    lookupKey: 'metered',
    metadata: {},
  })
  const subscribe = (key: string, priceId = flat.id) =>
    provider.createSubscription({
      ...{ key, customerId: customer.id, priceId, metered: priceId === metered.id, description: 'Item', metadata: { key } },
      payout: { destination: account.id, applicationFeePercent: 30 },
      anchor: priceId === metered.id ? { dayOfMonth: 5, hour: 12 } : null,
    })
  return { clock, double, provider, account, customer, flat, metered, subscribe }
}

test('a flat price is paid at once and each month; the vendor gets 70 %', async () => {
  const { clock, double, account, customer, subscribe } = await shop()
  const { currentPeriodEnd } = await subscribe('s')
  expect([currentPeriodEnd, double.paidBy(customer.id), double.receivedBy(account.id), double.keptByPlatform()]).toEqual([
    '2026-02-28T10:00:00.000Z',
    1000,
    700,
    300,
  ])
  await clock.advance(60 * dayMs)
  expect([double.paidBy(customer.id), double.receivedBy(account.id), double.keptByPlatform()]).toEqual([3000, 2100, 900])
})

test('usage of a day is replaced by the newest event and billed with its period', async () => {
  const { clock, double, provider, customer, metered, subscribe } = await shop('2026-01-10T00:00:00.000Z')
  const sub = await subscribe('s', metered.id)
  expect([sub.currentPeriodEnd, double.paidBy(customer.id)]).toEqual(['2026-02-05T12:00:00.000Z', 0])
  await clock.advance(22 * dayMs + 6.5 * 3_600_000)
  const at = '2026-01-31T12:00:00.000Z'
  const report = { eventName: 'item_1', customerId: customer.id, at }
  await provider.reportUsage({ ...report, quantity: 9, identifier: 'a:1' })
  await provider.reportUsage({ ...report, quantity: 9, identifier: 'a:1' })
  await provider.reportUsage({ ...report, quantity: 7, identifier: 'a:2' })
  await clock.advance(5 * dayMs)
  expect(double.paidBy(customer.id)).toBe(7 * 150)
})

test('cancelling at once loses the usage; at the end of the period it is billed', async () => {
  for (const [atOnce, cents] of [
    [true, 0],
    [false, 450],
  ] as const) {
    const { clock, double, provider, customer, metered, subscribe } = await shop('2026-01-10T00:00:00.000Z')
    const { id } = await subscribe('s', metered.id)
    await provider.reportUsage({
      eventName: 'item_1',
      customerId: customer.id,
      at: '2026-01-10T00:00:00.000Z',
      quantity: 3,
      identifier: 'a',
    })
    if (atOnce) await provider.cancelSubscription({ key: 'x', id })
    else await provider.updateSubscription({ key: 'x', id, cancelAtPeriodEnd: true })
    await clock.advance(60 * dayMs)
    expect([double.paidBy(customer.id), double.liveSubscriptions(customer.id)]).toEqual([cents, []])
  }
})

test('a key works once, repeats failures, and is forgotten after a day', async () => {
  const { clock, double, customer, subscribe } = await shop()
  double.fault('createSubscription', 'failed')
  await expect(subscribe('s:1')).rejects.toMatchObject({ kind: 'failed' })
  await expect(subscribe('s:1')).rejects.toMatchObject({ kind: 'failed' })
  const first = await subscribe('s:2')
  expect((await subscribe('s:2')).id).toBe(first.id)
  expect(double.paidBy(customer.id)).toBe(1000)
  await clock.advance(dayMs)
  expect((await subscribe('s:2')).id).not.toBe(first.id)
  expect(double.paidBy(customer.id)).toBe(2000)
})

test.each([
  ['lost', 0],
  ['answer lost', 1],
  ['late', 0],
  ['failed', 0],
  ['failed after', 1],
] as const)('%s leaves %i subscriptions', async (fault, live) => {
  const { double, customer, subscribe } = await shop()
  double.fault('createSubscription', fault)
  await expect(subscribe('s')).rejects.toMatchObject({ name: 'PaymentFailure' })
  expect(double.liveSubscriptions(customer.id)).toHaveLength(live)
  double.deliverLate()
  expect(double.liveSubscriptions(customer.id)).toHaveLength(fault === 'late' ? 1 : live)
})

test('a refused card makes no subscription, and a later month past due', async () => {
  const { clock, double, customer, subscribe } = await shop()
  double.refuseCard(customer.id)
  await expect(subscribe('s')).rejects.toMatchObject({ kind: 'declined' })
  double.refuseCard(customer.id, false)
  await subscribe('s2')
  double.refuseCard(customer.id)
  await clock.advance(29 * dayMs)
  expect([double.paidBy(customer.id), double.liveSubscriptions(customer.id)[0]?.status]).toEqual([1000, 'past_due'])
})

test('a refund takes back from vendor and platform', async () => {
  const { double, provider, account, customer, subscribe } = await shop()
  const { latestInvoiceId } = await subscribe('s')
  const refund = { key: 'r', invoiceId: latestInvoiceId as string }
  expect(await provider.refundInvoice(refund)).toEqual({ refundedCents: 1000 })
  expect(await provider.refundInvoice({ ...refund, key: 'r2' })).toEqual({ refundedCents: 0 })
  expect([double.paidBy(customer.id), double.receivedBy(account.id), double.keptByPlatform()]).toEqual([0, 0, 0])
})

test('an invoice that is sent stays a draft for an hour, the first one too; unpaid by its due date it makes the subscription past due', async () => {
  const { clock, double, provider, customer, subscribe } = await shop('2026-01-10T10:00:00.000Z', { collection: 'invoice' })
  const { id, status, latestInvoiceId } = await subscribe('s')
  const invoice = async () => provider.getInvoice(latestInvoiceId as string)
  expect([status, await invoice()]).toMatchObject(['active', { status: 'draft', finalizedAt: null, dueAt: null }])
  await clock.advance(3_600_000)
  expect(await invoice()).toMatchObject({ status: 'open', finalizedAt: '2026-01-10T11:00:00.000Z', dueAt: '2026-01-24T11:00:00.000Z' })
  await clock.advance(14 * dayMs)
  expect([double.paidBy(customer.id), (await provider.getSubscription(id))?.status]).toEqual([0, 'past_due'])
  expect(double.events().map(({ type }) => type)).toContain('invoice.overdue')
  double.payInvoice(latestInvoiceId as string)
  expect([double.paidBy(customer.id), (await provider.getSubscription(id))?.status]).toEqual([1000, 'active'])
})
