import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { freePort } from '../../support/free-port.ts'
import { aFlow } from '../../support/marketplace-world.ts'
import { type DoubleEvent, paymentDouble, readyAccount, signedEvent, testWebhookSecrets } from '../../support/payments/provider-double.ts'
import { stripeServer } from '../../support/payments/stripe-server.ts'
import { aPlatformUser } from '../../support/platform-user.ts'
import { realDaemon, type Started } from '../../support/real-daemon.ts'
import { aFolder, aKey, clientOf, loggedIn, type RunningDaemon } from '../../support/running-daemon.ts'
import { shiftedProcesses } from '../../support/shifted-processes.ts'

// Two processes of `tenantryd` on one PostgreSQL, with the real SDK against a provider over HTTP. Each act happens at both at once, and one process is
// killed after the provider carried its call out, before the answer: euros are counted at the provider, rows here.

type Replica = RunningDaemon & Readonly<{ secretKey: string; process: Started }>

const time = shiftedProcesses('2026-03-10T10:00:00.000Z')
const double = paymentDouble(time.clock)
const soon = { timeout: 60_000, interval: 50 }
const ends: (() => unknown)[] = []
let tenantryd: Awaited<ReturnType<typeof realDaemon>>
let stripe: Awaited<ReturnType<typeof stripeServer>>
let shared: Record<string, string>
let db: Db
let [customer, account] = ['', '']
const money = () => [double.paidBy(customer), double.receivedBy(account), double.keptByPlatform()]

async function aReplica(name: string): Promise<Replica> {
  const secretKey = `sk_test_${name}`
  const env = {
    ...{ ...shared, TENANTRY_LISTEN: `127.0.0.1:${await freePort()}`, TENANTRY_DATA_DIR: await aFolder(name) },
    TENANTRY_STRIPE_SECRET_KEY: secretKey,
  }
  const process = tenantryd(['serve'], { ...env, ...time.env })
  ends.push(() => process.stop('SIGKILL'))
  await process.says('tenantryd is ready')
  const config = loadConfig({ env })
  return { url: `http://${config.listen}`, config, secretKey, process } as unknown as Replica
}

beforeAll(async () => {
  tenantryd = await realDaemon()
  stripe = await stripeServer(double, (close) => void ends.push(close))
  const database = await emptyDatabase('postgres')
  db = database.db
  ends.push(() => db.destroy())
  shared = {
    ...{ TENANTRY_DATABASE: database.url, TENANTRY_SECRET_KEY: aKey(), TENANTRY_BACKUP_KEY: aKey() },
    ...{ TENANTRY_SNAPSHOT_STORE: `file:${await aFolder('snapshots')}`, TENANTRY_ADMIN_REQUIRE_TOTP: 'false' },
    TENANTRY_STRIPE_API: stripe.url,
    TENANTRY_STRIPE_WEBHOOK_SECRETS: `platform=${testWebhookSecrets.platform}`,
  }
})
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
})

/** An item of a vendor that can be paid. */
async function anItem(name: string, price: Readonly<{ price_model: 'flat-monthly' | 'per-active-user'; price_cents: number }>) {
  const now = isoNow(time.clock)
  await db
    .insertInto('marketplace_items')
    .values({
      ...{ id: `item_${name}`, item_type: 'flow', slug: name, name, description: '', icon_emoji: '', category: 'tools', version: '1.0.0' },
      ...{ vendor_id: 'ven_1', vendor_name: 'Flows', status: 'published', ...price, currency: 'eur', payment_product_id: null },
      ...{ payment_price_id: null, bundle: JSON.stringify(aFlow()), screenshots: '[]', seed_key: null, seed_hash: null },
      ...{ changed_by_admin: 0, published_at: now, created_at: now, updated_at: now },
    })
    .execute()
  return `item_${name}`
}

async function aVendor(): Promise<void> {
  const now = isoNow(time.clock)
  const created = await double.provider.createAccount({ key: 'a', name: 'Flows', email: 'a@flows.example', country: 'DE', metadata: {} })
  account = created.id
  double.setAccount(account, readyAccount)
  await db
    .insertInto('marketplace_vendors')
    .values({
      ...{ id: 'ven_1', name: 'Flows', contact_email: 'a@flows.example', country: 'DE', payment_account_id: account },
      ...{ payment_account_status: 'active', charges_enabled: 1, payouts_enabled: 1, application_fee_hundredths: 3000 },
      ...{ created_at: now, updated_at: now },
    })
    .execute()
}

const user = async (at: Replica, localpart = 'anna') =>
  clientOf(at.url, await aPlatformUser(at, { tenant: 'acme', localpart, roles: ['tenant-admin'], clock: time.clock }))

let logins = 0
const admin = async (at: Replica) => clientOf(at.url, await loggedIn(at, 'admin', { clock: time.clock, name: `olga-${logins++}` }))

const rowsOf = (itemId: string) =>
  db.selectFrom('marketplace_subscriptions').select(['status', 'payment_subscription_id as sub']).where('item_id', '=', itemId).execute()

let taken = 0
/** Each event of the provider since the last call, to each replica twice and at once. */
async function deliver(replicas: readonly Replica[]): Promise<void> {
  const fresh = double.events().slice(taken)
  taken += fresh.length
  const isOurs = ({ type }: DoubleEvent) => type !== 'account.updated'
  const send = async ({ url }: Replica, event: DoubleEvent) => {
    const { body, signature } = signedEvent(event, { now: time.clock.now() })
    const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
    const post = async () => (await fetch(`${url}/api/webhooks/stripe`, { method: 'POST', body, headers })).status
    // A process notices a moved time a moment later, and refuses the signature until then: a provider sends again.
    await expect.poll(post, soon).toBe(200)
  }
  const sent = fresh.filter(isOurs).flatMap((event) => [...replicas, ...replicas].map((replica) => send(replica, event)))
  await Promise.all(sent)
  const waiting = () => db.selectFrom('payment_events').select(['id', 'type']).where('applied_at', 'is', null).execute()
  await expect.poll(waiting, soon).toEqual([])
  const stored = await db.selectFrom('payment_events').select('id').execute()
  expect(stored).toHaveLength(double.events().filter(isOurs).length)
}

const audited = async (action: string) => (await db.selectFrom('audit').select('data').where('action', '=', action).execute()).length

test('two processes charge once, store once and count once, also when one is killed in the middle', async () => {
  let [one, other] = await Promise.all([aReplica('one'), aReplica('other')])
  await aVendor()
  const flat = await anItem('visits', { price_model: 'flat-monthly', price_cents: 1000 })
  const used = await anItem('lessons', { price_model: 'per-active-user', price_cents: 150 })
  await user(one)
  const body = { billingEmail: 'office@acme.example' }
  customer = (await (await admin(one)).billing.createPaymentCustomer({ params: { slug: 'acme' }, body })).paymentCustomerId as string

  // 1. Twelve parallel installations, six at each.
  const at = [await user(one), await user(other)]
  const installs = Array.from({ length: 12 }, (_, n) =>
    at[n % 2]?.marketplace.installMarketplaceItem({ params: { id: flat }, body: { priceCents: 1000 } }),
  )
  const outcomes = await Promise.allSettled(installs)
  expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') expect(['CONFLICT', 'ALREADY_INSTALLED', 'RATE_LIMITED']).toContain(outcome.reason.code)
  expect([money(), double.liveSubscriptions(customer).length, await rowsOf(flat)]).toEqual([
    [1000, 700, 300],
    1,
    [{ status: 'active', sub: double.liveSubscriptions(customer)[0]?.id }],
  ])

  // 2. The same events at both: a refund is in the log once.
  double.refundInvoice([...double.invoices.keys()][0] as string, 200)
  await deliver([one, other])
  expect([money(), await audited('payment.refunded')]).toEqual([[800, 700, 100], 1])

  // 3. One is killed after the provider charged, and before the answer. The other finishes the installation once the lease has expired.
  const charged = stripe.holdNext('POST subscriptions')
  const dying = at[0]?.marketplace.installMarketplaceItem({ params: { id: used }, body: { priceCents: 150 } }).catch((error) => error)
  expect((await charged).secretKey).toBe(one.secretKey)
  one.process.stop('SIGKILL')
  await Promise.all([dying, one.process.ended])
  expect([await rowsOf(used), double.liveSubscriptions(customer).length]).toEqual([[], 2])
  time.moveTo('2026-03-10T10:10:00.000Z')
  await expect.poll(() => rowsOf(used), soon).toMatchObject([{ status: 'active' }])
  one = await aReplica('one')
  await deliver([one, other])
  expect([double.liveSubscriptions(customer).length, await rowsOf(used)]).toMatchObject([2, [{ status: 'active' }]])

  // 4. Three users, each at both.
  for (const localpart of ['anna', 'ben', 'cem'])
    for (const replica of [one, other]) await (await user(replica, localpart)).profile.showProfile()
  const active = async () => (await db.selectFrom('billing_active_users').select('user_id').execute()).length
  await expect.poll(active, soon).toBe(3)

  // 5. The month ends. The job is run at both; the one that reports is killed after the provider took the report.
  const reported = stripe.holdNext('POST billing/meter_events')
  time.moveTo('2026-04-01T06:31:00.000Z')
  const run = async (replica: Replica) =>
    (await admin(replica)).crons.triggerCron({ params: { jobKey: 'marketplace-monthly-billing' } }).catch(({ code }) => code)
  await Promise.all([run(one), run(other)])
  const { secretKey } = await reported
  const [killed, left] = secretKey === one.secretKey ? [one, other] : [other, one]
  killed.process.stop('SIGKILL')
  await killed.process.ended
  time.moveTo('2026-04-01T06:40:00.000Z')
  const replacement = await aReplica('third')
  ;[one, other] = [left, replacement]
  const unsent = () => db.selectFrom('billing_reports').select('id').where('sent_at', 'is', null).execute()
  await vi.waitUntil(async () => {
    await Promise.all([run(one), run(other)])
    const reports = await db.selectFrom('billing_reports').select('id').execute()
    return reports.length > 0 && (await unsent()).length === 0
  }, soon)

  // 6. The invoices are final: 3 × 1.50 EUR, of which the vendor gets 70 %.
  time.moveTo('2026-04-06T00:00:00.000Z')
  await deliver([one, other])
  expect(money()).toEqual([800 + 450, 700 + 315, 100 + 135])
  const reports = await db.selectFrom('billing_reports').select(['month', 'quantity', 'claimed_cents']).execute()
  expect(reports).toEqual([{ month: '2026-03', quantity: 3, claimed_cents: 0 }])
  const alerts = await db.selectFrom('alerts').select('kind').where('kind', '<>', 'jobs_stuck').execute()
  const { differences } = await (await admin(one)).billing.reconcileBilling({})
  expect([alerts, differences, [...stripe.unknown]]).toEqual([[], [], []])
  for (const { process } of [one, other]) process.stop()
  expect(await Promise.all([one.process.ended, other.process.ended])).toMatchObject([{ exit: 0 }, { exit: 0 }])
})
