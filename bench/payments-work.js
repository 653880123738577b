// Work of the benchmark of payments in a process of its own: `month` or `install`, then the URL of an empty database. Prints JSON.
import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { parse } from 'yaml'
import { FlowBundle } from '../dist/core/boards/index.js'
import { RoleBook } from '../dist/core/users/index.js'
import { billingHooks, openActiveUsers } from '../dist/daemon/billing/index.js'
import { countMonths, sendUnsent } from '../dist/daemon/billing/report-usage.js'
import { migrate, openDatabase } from '../dist/daemon/db/index.js'
import { planBundle, storeInstallation, withoutPayments } from '../dist/daemon/marketplace/index.js'
import { paymentsOfMarketplace } from '../dist/daemon/payments/index.js'
import { systemClock, systemRandom } from '../dist/node/index.js'

const [tenants, users, installs] = [10_000, 20, 200]
const [, , what, url] = process.argv
const { db, close } = openDatabase(url)
await migrate(db)
const log = { warn: () => undefined, info: () => undefined, error: () => undefined }
const clock = systemClock
const base = { db, clock, random: systemRandom, log }
console.log(JSON.stringify(what === 'month' ? await month() : await install()))
await close()

/** The last month of tenants that installed an item with a price per user. */
async function month() {
  const now = clock.now()
  const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 0)).toISOString().slice(0, 7)
  await sql`insert into billing_spans (payment_subscription_id, from_at, to_at, tenant_id, item_id, customer_id, price_model, unit_cents, currency)
    select 'sub_' || n, ${`${last}-02T00:00:00.000Z`}, null, 'ten_' || n, 'itm_1', 'cus_' || n, 'per-active-user', 150, 'eur'
    from generate_series(1, ${sql.lit(tenants)}) n`.execute(db)
  await sql`insert into billing_active_users (tenant_id, month, user_id, first_day, last_day)
    select 'ten_' || n, ${last}, 'usr_' || n || '_' || u, ${`${last}-03`}, ${`${last}-20`}
    from generate_series(1, ${sql.lit(tenants)}) n, generate_series(1, ${sql.lit(users)}) u`.execute(db)
  await sql`analyze`.execute(db)
  let quantity = 0
  const provider = {
    name: 'stripe',
    reportUsage: async (one) => {
      quantity += one.quantity
    },
    getSubscription: async (id) => ({ id, status: 'active', currentPeriodStart: `${last}-01T00:00:00.000Z` }),
  }
  const began = performance.now()
  const [deps, { signal }] = [{ ...base, provider, activeUsers: openActiveUsers(base) }, new AbortController()]
  await countMonths(deps, signal)
  await sendUnsent(deps, signal)
  return { ms: performance.now() - began, bytes: process.resourceUsage().maxRSS * 1024, quantity }
}

/** Installs a paid flow in as many tenants; the provider answers at once. */
async function install() {
  const at = clock.now().toISOString()
  for (let n = 0; n < installs; n++)
    await db
      .insertInto('tenants')
      .values({
        ...{ id: `ten_${n}`, slug: `t${n}`, name: `t${n}`, chat_domain: `chat.t${n}.example`, plan: 'light', status: 'active' },
        ...{ created_at: at, feature_flags: '{}', payment_customer_id: `cus_${n}` },
      })
      .execute()
  const bundle = FlowBundle.parse(parse(readFileSync(new URL('../config/flows/visitor.yaml', import.meta.url), 'utf8')))
  const item = {
    ...{
      id: 'itm_1',
      itemType: 'flow',
      slug: 'visitors',
      name: 'Visitors',
      description: '',
      iconEmoji: '',
      category: 'tools',
      vendorId: null,
    },
    ...{ vendorName: 'Flows', version: '1.0.0', status: 'published', priceModel: 'flat-monthly', priceCents: 500, currency: 'eur' },
    ...{ paymentProductId: null, paymentPriceId: null, bundle, screenshots: [], seedKey: null, seedHash: null, changedByAdmin: false },
    ...{ publishedAt: at, createdAt: at, updatedAt: at },
  }
  await db
    .insertInto('marketplace_items')
    .values({
      ...{ id: item.id, item_type: 'flow', slug: item.slug, name: item.name, description: '', icon_emoji: '', category: 'tools' },
      ...{ vendor_id: null, vendor_name: 'Flows', version: '1.0.0', status: 'published', price_model: 'flat-monthly', price_cents: 500 },
      ...{ currency: 'eur', payment_product_id: null, payment_price_id: null, bundle: JSON.stringify(bundle), screenshots: '[]' },
      ...{ seed_key: null, seed_hash: null, changed_by_admin: 0, published_at: at, created_at: at, updated_at: at },
    })
    .execute()
  const roles = RoleBook.parse(parse(readFileSync(new URL('../config/roles.yaml', import.meta.url), 'utf8')))
  const shop = { ...base, roles, roomsOf: async () => [], payments: withoutPayments }
  const bundles = {
    plan: (tenant, one) => planBundle(shop, tenant, one),
    store: (tx, input) => storeInstallation(shop, tx, input),
    end: async () => undefined,
  }
  const deps = {
    ...base,
    provider: aProvider(),
    currency: 'eur',
    baseUrl: 'https://platform.example',
    bundles,
    billing: billingHooks(base),
  }
  const payments = paymentsOfMarketplace(deps)
  const actorOf = (n) => ({
    ...{
      kind: 'user',
      userId: `usr_${n}`,
      matrixUserId: `@u:chat.t${n}.example`,
      tenantId: `ten_${n}`,
      tenantSlug: `t${n}`,
      sessionId: 's',
    },
    ...{ roles: [], capabilities: ['manageMarketplace', 'manageBoards', 'manageRuns'] },
  })
  const warm = installs / 4
  for (let n = 0; n < warm; n++) await payments.installPaid(actorOf(n), item)
  const before = process.cpuUsage()
  for (let n = warm; n < installs; n++) await payments.installPaid(actorOf(n), item)
  const { user, system } = process.cpuUsage(before)
  return { cpuMs: (user + system) / 1000 / (installs - warm) }
}

function aProvider() {
  const [price, subs] = [
    { id: 'price_1', productId: 'prod_1', unit: { cents: 500, currency: 'eur' }, meterId: null, active: true },
    new Map(),
  ]
  return {
    name: 'stripe',
    getCustomer: async (id) => ({ id, email: null, name: null, metadata: {} }),
    findPrice: async () => price,
    getPrice: async () => price,
    listInvoices: async () => [],
    listSubscriptions: async (customerId) => [...subs.values()].filter((one) => one.customerId === customerId),
    getSubscription: async (id) => subs.get(id) ?? null,
    createSubscription: async ({ customerId, metadata }) => {
      const id = `sub_${subs.size}`
      subs.set(id, { id, customerId, status: 'active', itemId: `si_${id}`, priceId: price.id, metadata, cancelAtPeriodEnd: false })
      return subs.get(id)
    },
  }
}
