import { type Clock, isoNow, type ManualClock, manualClock, newId, type PlatformPrincipal } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { findItem, storeSubscription } from '../../../src/daemon/marketplace/index.ts'
import { type PaymentsDeps, paymentsFeature, paymentsOfMarketplace } from '../../../src/daemon/payments/index.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { paymentDouble, readyAccount } from './provider-double.ts'

type Options = Readonly<{
  priceModel?: 'flat-monthly' | 'per-active-user'
  priceCents?: number
  vendor?: boolean
  collection?: 'charge' | 'invoice'
  automaticTax?: boolean
  start?: string
}>

/** A clock whose process is killed when it reads the time for the n-th time, and at each reading after that. */
export function dyingAfter(clock: Clock, nth: number): Clock {
  let reads = 0
  const now = () => {
    if (++reads >= nth) throw new Error('killed')
    return clock.now()
  }
  return { ...clock, now }
}

/** Tenant `acme` with a payment customer, a published paid item of a ready vendor, and a provider with state. */
export async function aPaymentsWorld(db: Db, options: Options = {}) {
  const {
    priceModel = 'flat-monthly',
    priceCents = 1000,
    vendor = true,
    collection = 'charge',
    automaticTax = false,
    start = '2026-03-10T10:00:00.000Z',
  } = options
  const clock: ManualClock = manualClock(start)
  const double = paymentDouble(clock, { collection, automaticTax })
  const { provider } = double
  const now = isoNow(clock)
  const customer = await provider.createCustomer({ key: 'c', name: 'Acme', email: 'a@acme.example', metadata: {} })
  const account = await provider.createAccount({ key: 'a', name: 'Flows', email: 'a@flows.example', country: 'DE', metadata: {} })
  double.setAccount(account.id, readyAccount)
  await db
    .insertInto('tenants')
    .values({
      ...{ id: 'ten_acme', slug: 'acme', name: 'Acme', plan: 'light', status: 'active', chat_domain: 'acme.example', created_at: now },
      ...{ feature_flags: '{}', time_zone: null, maintenance_window: null, payment_customer_id: customer.id },
    })
    .execute()
  await db
    .insertInto('marketplace_vendors')
    .values({
      ...{ id: 'ven_1', name: 'Flows', contact_email: 'a@flows.example', country: 'DE', payment_account_id: account.id },
      ...{ payment_account_status: 'active', charges_enabled: 1, payouts_enabled: 1, application_fee_hundredths: 3000 },
      ...{ created_at: now, updated_at: now },
    })
    .execute()
  await db
    .insertInto('marketplace_items')
    .values({
      ...{ id: 'item_1', item_type: 'flow', slug: 'visits', name: 'Visits', description: '', icon_emoji: '', category: 'tools' },
      ...{ vendor_id: vendor ? 'ven_1' : null, vendor_name: 'Flows', version: '1.0.0', status: 'published' },
      ...{ price_model: priceModel, price_cents: priceCents, currency: 'eur', payment_product_id: null, payment_price_id: null },
      ...{
        bundle: '{}',
        screenshots: '[]',
        seed_key: null,
        seed_hash: null,
        changed_by_admin: 0,
        published_at: now,
        created_at: now,
        updated_at: now,
      },
    })
    .execute()
  const activated: string[] = []
  const faults: { install: number; plan: Error | null; modulePriceCents: number | null } = {
    install: 0,
    plan: null,
    modulePriceCents: null,
  }
  const deps: PaymentsDeps = {
    ...{
      db,
      clock,
      random: systemRandom,
      log: silentLogger(),
      provider,
      currency: 'eur',
      automaticTax,
      baseUrl: 'https://platform.example',
    },
    bundles: {
      plan: async () => {
        if (faults.plan) throw faults.plan
        return { modulePriceCents: faults.modulePriceCents }
      },
      store: async (tx, { actor: { tenantId }, item, payment }) => {
        if (faults.install-- > 0) throw new Error('the database went away')
        const at = isoNow(clock)
        return storeSubscription(tx, {
          ...{ id: newId(systemRandom, 'msb'), tenantId, itemId: item.id, itemType: item.itemType, installedVersion: item.version },
          ...{
            ...payment,
            status: 'active',
            installedTemplateId: null,
            moduleId: null,
            ownsModule: false,
            installedBy: null,
          },
          ...{ installedAt: at, cancelledAt: null, updatedAt: at },
        })
      },
      activate: async (_, { id }) => {
        activated.push(id)
        return null
      },
      end: async (tx, { subscription }) => {
        await storeSubscription(tx, { ...subscription, status: 'cancelled', cancelledAt: isoNow(clock) })
      },
    },
  }
  const actor = {
    ...{ kind: 'user', userId: 'usr_1', matrixUserId: '@anna:acme.example', tenantId: 'ten_acme', tenantSlug: 'acme', sessionId: 's' },
    ...{ roles: [], capabilities: ['manageMarketplace'] },
  } as unknown as PlatformPrincipal
  // Those of billing stay in the queue.
  const all = Object.entries(paymentsFeature.jobs?.(deps as never) ?? {})
  const jobs = Object.fromEntries(all.filter(([topic]) => topic.startsWith('payments.')))
  const payments = paymentsOfMarketplace(deps)
  /** Runs all jobs that are due, as the queue does. */
  const runJobs = async () => {
    for (;;) {
      const due = await db.selectFrom('jobs').selectAll().where('next_at', '<=', isoNow(clock)).orderBy('id').execute()
      const [job] = due.filter(({ topic }) => topic in jobs)
      if (!job) return
      await db.deleteFrom('jobs').where('id', '=', job.id).execute()
      await jobs[job.topic]?.(JSON.parse(job.payload), { last: false })
    }
  }
  return {
    ...{ db, clock, double, provider, customer, account, deps, actor, payments, faults, jobs, runJobs },
    /** Subscriptions whose module a job activated. */
    activated,
    item: async () => (await findItem(db, 'item_1')) as NonNullable<Awaited<ReturnType<typeof findItem>>>,
    install: async () => payments.installPaid(actor, (await findItem(db, 'item_1')) as NonNullable<Awaited<ReturnType<typeof findItem>>>),
    rows: () => db.selectFrom('marketplace_subscriptions').selectAll().execute(),
    attempts: () => db.selectFrom('payment_attempts').selectAll().execute(),
    uninstall: async () => {
      const [row] = await db.selectFrom('marketplace_subscriptions').selectAll().execute()
      await db
        .updateTable('marketplace_subscriptions')
        .set({ status: 'cancelled', cancelled_at: isoNow(clock) })
        .execute()
      return db
        .transaction()
        .execute((tx) =>
          payments.cancelled(tx, { paymentSubscriptionId: row?.payment_subscription_id ?? null, paidUntil: row?.paid_until ?? null }),
        )
    },
    /** Euros in cents: the customer paid, the vendor received, the platform kept. */
    money: () => [double.paidBy(customer.id), double.receivedBy(account.id), double.keptByPlatform()],
  }
}
