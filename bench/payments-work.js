// The monthly job of the benchmark of payments in a process of its own. Takes the URL of an empty database, prints JSON.
import { sql } from 'kysely'
import { migrate, openDatabase } from '../dist/daemon/db/index.js'
import { countMonths, sendUnsent } from '../dist/daemon/payments/billing/report-usage.js'
import { openActiveUsers } from '../dist/daemon/payments/index.js'
import { silentLogger, systemClock, systemRandom } from '../dist/node/index.js'
import { peakBytes } from './daemon-process.js'
import { sized } from './size.js'

const [tenants, users] = sized([10_000, 20], [10, 20])
const [, , url] = process.argv
const { db, close } = openDatabase(url)
await migrate(db)
const clock = systemClock
const base = { db, clock, random: systemRandom, log: silentLogger() }
console.log(JSON.stringify(await month()))
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
  /** @type {any} what the job calls of it */
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
  return { ms: performance.now() - began, bytes: peakBytes('self'), quantity }
}
