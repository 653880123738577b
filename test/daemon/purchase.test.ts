import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Clock } from '../../src/core/kit/index.ts'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { noProvider } from '../../src/daemon/payments/index.ts'
import { systemClock } from '../../src/node/index.ts'
import { aFlow } from '../support/marketplace-world.ts'
import { type DoubleEvent, paymentDouble, readyAccount, signedEvent } from '../support/payments/provider-double.ts'
import { shapedProvider } from '../support/payments/shaped-provider.ts'
import { hasStripeMock } from '../support/payments/stripe-mock.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { type Api, aFolder, aKey, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'
import { smtpServer } from '../support/smtp-server.ts'
import { codeOf } from '../support/tasks-world.ts'

// docs/marketplace.md and docs/billing.md over HTTP on whole daemons: vendors submit, operators approve, tenants pay, months pass. Each call of the
// provider goes to stripe-mock by the real SDK and to a double with state and money.

let offsetMs = Date.parse('2026-03-10T10:00:00.000Z') - Date.now()
const clock: Clock = { ...systemClock, now: () => new Date(Date.now() + offsetMs) }
const moveTo = (at: string) => {
  offsetMs = Date.parse(at) - Date.now()
}
const double = paymentDouble(clock)
const soon = { timeout: 60_000, interval: 50 }

let shaped: Awaited<ReturnType<typeof shapedProvider>>
let post: Awaited<ReturnType<typeof smtpServer>>
let env: Record<string, string>
let daemon: RunningDaemon
let logins = 0
const ends: (() => unknown)[] = []

const start = async (provider = shaped.provider) => {
  daemon = await aRunningDaemon({ provider, env, clock })
}
const restart = async (provider = shaped.provider) => {
  await daemon.close()
  await start(provider)
}

beforeAll(async () => {
  post = await smtpServer({ whenOver: (close) => ends.push(close) })
  shaped = await shapedProvider(double.provider, (close) => ends.push(close))
  env = {
    ...{ TENANTRY_MAIL_SMTP: post.url, TENANTRY_MAIL_FROM: 'Tenantry <mail@platform.example>', TENANTRY_PAYMENTS_TRANSFER_PAYOUTS: 'true' },
    ...{ TENANTRY_DATA_DIR: await aFolder('purchase'), TENANTRY_SECRET_KEY: aKey() },
  }
  await start()
})
afterAll(async () => {
  await daemon.close()
  for (const end of ends) await end()
})

const mailAbout = (subject: string) =>
  vi.waitUntil(() => post.received.find(({ message }) => message.includes(`Subject: ${subject}`)), soon)
const untilTrue = (check: () => unknown) => vi.waitUntil(check, soon)
const admin = async (): Promise<Api> => clientOf(daemon.url, await loggedIn(daemon, 'admin', { clock, name: `olga-${logins++}` }))
const user = async (localpart = 'anna'): Promise<Api> =>
  clientOf(daemon.url, await aPlatformUser(daemon, { tenant: 'acme', localpart, roles: ['tenant-admin'], clock }))

const isOfConnect = ({ type }: DoubleEvent) => type === 'account.updated'
type Sent = Readonly<{ endpoint?: 'platform' | 'connect'; at?: Date; body?: Uint8Array<ArrayBuffer> }>
const send = (event: DoubleEvent, { endpoint = isOfConnect(event) ? 'connect' : 'platform', at = clock.now(), body: other }: Sent = {}) => {
  const { body, signature } = signedEvent(event, { now: at, endpoint })
  const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
  return fetch(`${daemon.url}/api/webhooks/stripe`, { method: 'POST', body: other ?? body, headers }).then(({ status }) => status)
}
let taken = 0
/** Sends the events of the provider since the last call. */
async function deliver(): Promise<void> {
  const fresh = double.events().slice(taken)
  taken += fresh.length
  for (const event of fresh) expect(await send(event)).toBe(200)
}

test('a vendor sells, tenants pay each month, and each euro goes to whom it belongs', async () => {
  // 1. A stranger submits, is asked for changes, sends again; an operator approves.
  const stranger = clientOf(daemon.url)
  let operator = await admin()
  const submission = {
    ...{ itemType: 'flow', name: 'Visitors', description: 'Welcomes visitors.', iconEmoji: '👋', category: 'organization' },
    ...{ vendorName: 'Flows', vendorEmail: 'pay@flows.example', bundle: aFlow(), priceModel: 'per-active-user', priceCents: 150 },
  } as const
  const { submissionId: id } = await stranger.marketplace.submitItem({ body: submission as never })
  const one = { params: { id } }
  expect((await mailAbout(`We received submission ${id}`)).to).toEqual(['pay@flows.example'])
  expect((await stranger.marketplace.showSubmissionState(one)).status).toBe('pending')
  await operator.marketplace.requestMarketplaceChanges({ ...one, body: { reason: 'Say more' } })
  const asked = (await mailAbout('Visitors needs changes')).message.replaceAll('=\n', '').replaceAll('=3D', '=')
  const token = /token=([A-Za-z0-9._~-]+)/.exec(asked)?.[1] as string
  await untilTrue(async () =>
    stranger.marketplace
      .repeatSubmission({ ...one, query: { token }, body: { ...submission, description: 'Welcomes all.' } as never })
      .catch(() => false),
  )
  const { item, vendorId } = await operator.marketplace.approveMarketplaceSubmission({ ...one, body: { round: 2 } })
  await mailAbout('Visitors was approved')

  // 2. The vendor completes its account; while it is restricted nobody can buy.
  const vendor = { params: { id: vendorId } }
  expect(((await untilTrue(() => operator.marketplace.onboardVendor(vendor).catch(() => undefined))) as { url: string }).url).toMatch(
    /^https:/,
  )
  let anna = await user()
  const install = { params: { id: item.id }, body: { priceCents: item.priceCents } }
  expect(await codeOf(anna.marketplace.installMarketplaceItem(install))).toBe('VENDOR_INACTIVE')
  const account = (await operator.marketplace.listVendors({})).vendors[0]?.paymentAccountId as string
  const stateOfVendor = async () => (await operator.marketplace.listVendors({})).vendors[0]?.paymentAccountStatus
  for (const [patch, state] of [
    [readyAccount, 'active'],
    [{ pastDue: ['external_account'] }, 'restricted'],
    [readyAccount, 'active'],
  ] as const) {
    double.setAccount(account, patch)
    await deliver()
    await untilTrue(async () => (await stateOfVendor()) === state)
    if (state === 'restricted') expect(await codeOf(anna.marketplace.installMarketplaceItem(install))).toBe('VENDOR_INACTIVE')
  }

  // 3. A customer with a means of payment; ten parallel installs are one.
  expect(await codeOf(anna.marketplace.installMarketplaceItem(install))).toBe('NO_PAYMENT_CUSTOMER')
  const created = await operator.billing.createPaymentCustomer({ params: { slug: 'acme' }, body: { billingEmail: 'office@acme.example' } })
  const customer = created.paymentCustomerId as string
  await Promise.allSettled(Array.from({ length: 10 }, () => anna.marketplace.installMarketplaceItem(install)))
  await untilTrue(async () => (await anna.marketplace.listMarketplaceSubscriptions()).subscriptions[0]?.status === 'active')
  expect(double.liveSubscriptions(customer)).toHaveLength(1)
  const [bought] = (await anna.marketplace.listMarketplaceSubscriptions()).subscriptions
  const money = () => [double.paidBy(customer), double.receivedBy(account), double.keptByPlatform()]

  // 4. A free flow of the platform is a board; one that is archived stays so after a restart.
  const { items } = (await untilTrue(async () => {
    const found = await operator.marketplace.listItems({ query: { limit: 50 } })
    return found.items.length === 6 && found
  })) as Awaited<ReturnType<Api['marketplace']['listItems']>>
  const [seed, other] = items.filter(({ isSeed }) => isSeed)
  const free = await anna.marketplace.installMarketplaceItem({ params: { id: seed?.id as string } })
  const board = await anna.boards.showBoard({ params: { id: free.subscription.installedTemplateId as string } })
  expect(board).toMatchObject({ status: 'draft' })
  await operator.marketplace.changeItem({ params: { id: other?.id as string }, body: { status: 'archived' } })

  // 5. Wrong events change nothing.
  const event = double.events().find(({ type }) => type === 'customer.subscription.created') as DoubleEvent
  expect(await send(event, { endpoint: 'connect' })).toBe(200)
  expect(await send({ ...event, id: 'evt_old' }, { at: new Date(clock.now().getTime() - 301_000) })).toBe(400)
  expect(await send({ ...event, id: 'evt_wrong' }, { body: Buffer.from('{}') })).toBe(400)
  expect(await send({ ...event, id: 'evt_large' }, { body: Buffer.alloc(2 * 2 ** 20) })).toBe(413)

  // 6. A month passes: the preview, the announcement, five runs of the job, and the invoice say the same.
  await user('ben').then((ben) => ben.profile.showProfile())
  const preview = async (month: string) => (await operator.billing.previewBilling({ query: { month, tenant: 'acme' } })).previews[0]
  expect(await preview('2026-03')).toMatchObject({ totalCents: 300, charges: [{ kind: 'users', quantity: 2 }] })
  moveTo('2026-03-24T09:00:00.000Z')
  await restart()
  operator = await admin()
  const trigger = async (jobKey: string) =>
    expect(await operator.crons.triggerCron({ params: { jobKey } }).catch(({ code }) => ({ success: code === 'CONFLICT' }))).toMatchObject({
      success: true,
    })
  await trigger('billing-period-end-warning')
  const announced = (await mailAbout('Your charges for 2026-03')).message
  expect(announced).toContain('3.00 EUR')
  moveTo('2026-04-01T06:30:00.000Z')
  await restart()
  operator = await admin()
  for (let nth = 0; nth < 5; nth++) await trigger('marketplace-monthly-billing')
  await trigger('billing-usage-aggregation')
  const waiting = async () =>
    (await operator.jobs.listJobs({})).jobs.filter(({ topic }) => topic === 'cron' || topic.startsWith('billing.'))
  await untilTrue(async () => (await waiting()).length === 0)
  expect(await preview('2026-03')).toMatchObject({ totalCents: 300 })
  moveTo('2026-04-06T00:00:00.000Z')
  await restart()
  ;[operator, anna] = [await admin(), await user()]
  await deliver()
  expect(money()).toEqual([300, 210, 90])
  expect((await operator.billing.listUsage({})).usage).toMatchObject([{ month: '2026-03', cents: 300, state: 'reported' }])
  expect(post.received.filter(({ message }) => message.includes('Your charges for 2026-03'))).toHaveLength(1)
  expect((await operator.marketplace.listItems({ query: { limit: 50 } })).items.find(({ id: known }) => known === other?.id)?.status).toBe(
    'archived',
  )

  // 7. Somebody changes things at the provider by hand: each difference is named, nothing is changed.
  const [live] = double.liveSubscriptions(customer)
  Object.assign(double.subscriptions.get(live?.id as string) ?? {}, { applicationFeePercent: 5 })
  expect((await operator.billing.reconcileBilling({})).differences.map(({ kind }) => kind)).toEqual(['price_differs'])
  Object.assign(double.subscriptions.get(live?.id as string) ?? {}, { applicationFeePercent: 30 })
  expect((await operator.billing.reconcileBilling({})).differences).toEqual([])

  // The vendor sends a newer version: it is offered, installed beside the old board, and nothing is charged for it.
  expect(bought).toMatchObject({ installedVersion: '1.0.0', updateAvailable: false })
  const newer = await untilTrue(() =>
    clientOf(daemon.url)
      .marketplace.submitItem({ body: { ...submission, version: '1.1.0' } as never })
      .catch(() => undefined),
  )
  const { submissionId: newerId } = newer as Awaited<ReturnType<Api['marketplace']['submitItem']>>
  await untilTrue(async () => {
    const mail = post.received.find(({ message }) => message.replaceAll('=\n', '').includes(newerId))
    const path = /confirm\?token=[A-Za-z0-9._~-]+/.exec(mail?.message.replaceAll('=\n', '').replaceAll('=3D', '=') ?? '')?.[0]
    return path && (await fetch(`${daemon.url}/api/public/marketplace/submissions/${newerId}/${path}`, { method: 'POST' })).ok
  })
  await operator.marketplace.approveMarketplaceSubmission({ params: { id: newerId }, body: { vendorId, itemId: item.id } })
  const ownOf = async () =>
    (await anna.marketplace.listMarketplaceSubscriptions()).subscriptions.find(({ id: known }) => known === bought?.id)
  expect(await ownOf()).toMatchObject({ installedVersion: '1.0.0', updateAvailable: true })
  const updated = await anna.marketplace.updateMarketplaceItem({ params: { id: bought?.id as string } })
  expect(updated.subscription).toMatchObject({ installedVersion: '1.1.0', updateAvailable: false, status: 'active' })
  expect(updated.subscription.installedTemplateId).not.toBe(bought?.installedTemplateId)
  expect([money(), double.liveSubscriptions(customer).length]).toEqual([[300, 210, 90], 1])

  // The price changes for new installs; a deleted subscription is cancelled here, and its usage is charged.
  await operator.marketplace.changeItem({ params: { id: item.id }, body: { priceModel: 'per-active-user', priceCents: 200 } })
  await untilTrue(async () => [...double.prices.values()].some(({ unit, active }) => active && unit.cents === 200))
  await double.provider.cancelSubscription({ key: 'by hand', id: live?.id as string })
  await deliver()
  const deleted = double.events().findLast(({ type }) => type === 'customer.subscription.deleted') as DoubleEvent
  expect(await send(deleted)).toBe(200)
  await untilTrue(async () => {
    const { subscriptions } = await anna.marketplace.listMarketplaceSubscriptions()
    return subscriptions.find(({ id: known }) => known === bought?.id)?.status === 'cancelled'
  })
  // The provider has two hours for an invoice of its own.
  offsetMs += 2 * 60 * 60_000
  await untilTrue(() => money()[0] !== 300)
  expect(money()).toEqual([300 + 150, 210 + 105, 90 + 45])

  // An accountant follows it by the audit log, which holds no address and no key.
  const { db, close } = openDatabase(daemon.config.databaseUrl)
  const audit = await db.selectFrom('audit').selectAll().orderBy('seq').execute()
  await close()
  const actions = audit.map(({ action }) => action).filter((action) => /^(marketplace|billing|payment)\./.test(action))
  expect([...new Set(actions)]).toEqual(
    expect.arrayContaining([
      ...[
        'marketplace.submission-approved',
        'payment.account-changed',
        'payment.setup-link',
        'payment.install-begun',
        'marketplace.installed',
      ],
      ...['marketplace.item-changed', 'marketplace.payment-ended', 'billing.usage-claimed'],
    ]),
  )
  expect(JSON.stringify(audit)).not.toMatch(/@flows\.example|office@acme|whsec_|sk_test/)

  // 8. Without a provider free things work, paid ones wait.
  await restart(noProvider)
  anna = await user()
  expect(await codeOf(anna.marketplace.installMarketplaceItem({ params: install.params }))).toBe('PAYMENTS_UNAVAILABLE')
  const third = items.filter(({ isSeed }) => isSeed)[2]
  expect((await anna.marketplace.installMarketplaceItem({ params: { id: third?.id as string } })).status).toBe('active')
  if (hasStripeMock)
    expect([...shaped.shaped]).toEqual(
      expect.arrayContaining(['createSubscription', 'ensureMeter', 'reportUsage', 'createInvoiceItem', 'finishInvoice']),
    )
})

test('a sixth submission from one address within the hour is refused', async () => {
  // The story before sent one from this address.
  moveTo('2026-04-06T02:00:00.000Z')
  await restart()
  const stranger = clientOf(daemon.url)
  const submission = {
    ...{ itemType: 'flow', name: 'Again', description: 'Again.', iconEmoji: '👋', category: 'organization' },
    ...{ vendorName: 'Again', vendorEmail: 'pay@again.example', bundle: aFlow() },
  }
  const codes: string[] = []
  for (let nth = 0; nth < 6; nth++)
    await untilTrue(async () => {
      const code = await stranger.marketplace.submitItem({ body: submission as never }).then(
        () => 'ok',
        (problem) => `${problem.code} ${(problem.retryAfterSeconds ?? 0) > 60 ? 'for the hour' : ''}`,
      )
      // Two a second are allowed from one address.
      if (code === 'RATE_LIMITED ') return false
      codes.push(code)
      return true
    })
  expect(codes).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'RATE_LIMITED for the hour'])
})
