// Tenants with an installed paid item each, and how the payment provider answers for their subscriptions.
const at = '2026-01-05T08:00:00.000Z'
const seconds = Date.parse(at) / 1000
const rowsAtOnce = 500

/** Adds tenants `ten_<n>` with the subscriptions `sub_<n>` of one item. */
export async function seedSubscriptions(db, count) {
  await db
    .insertInto('marketplace_items')
    .values({
      ...{ id: 'itm_1', item_type: 'flow', slug: 'visitors', name: 'Visitors', description: '', icon_emoji: '', category: 'tools' },
      ...{ vendor_id: null, vendor_name: 'Flows', version: '1.0.0', status: 'published', price_model: 'flat-monthly', price_cents: 500 },
      ...{ currency: 'eur', payment_product_id: 'prod_1', payment_price_id: 'price_1', bundle: '{}', screenshots: '[]' },
      ...{ seed_key: null, seed_hash: null, changed_by_admin: 0, published_at: at, created_at: at, updated_at: at },
    })
    .execute()
  const numbers = Array.from({ length: count }, (_, n) => n)
  for (let from = 0; from < count; from += rowsAtOnce) {
    const some = numbers.slice(from, from + rowsAtOnce)
    await db.insertInto('tenants').values(some.map(tenantRow)).execute()
    await db.insertInto('marketplace_subscriptions').values(some.map(subscriptionRow)).execute()
  }
}

const tenantRow = (n) => ({
  ...{ id: `ten_${n}`, slug: `t${n}`, name: `t${n}`, chat_domain: `chat.t${n}.example`, plan: 'light', status: 'active' },
  ...{ created_at: at, feature_flags: '{}', payment_customer_id: `cus_${n}` },
})

const subscriptionRow = (n) => ({
  ...{ id: `msb_${n}`, tenant_id: `ten_${n}`, item_id: 'itm_1', item_type: 'flow', installed_version: '1.0.0', status: 'active' },
  ...{ price_model: 'flat-monthly', price_cents: 500, currency: 'eur', payment_price_id: 'price_1', payment_status: 'ok' },
  ...{ payment_subscription_id: `sub_${n}`, payment_subscription_item_id: `si_${n}`, paid_until: null },
  ...{ installed_template_id: null, module_id: null, installed_by: null, installed_at: at, cancelled_at: null, updated_at: at },
})

/** The answer to `GET /v1/subscriptions/sub_<n>`: every tenth is late with its payment. */
export function subscriptionAnswer(path) {
  const n = Number(/sub_(\d+)/.exec(path)?.[1])
  const price = { id: 'price_1', object: 'price', currency: 'eur', unit_amount: 500, product: 'prod_1' }
  const period = { current_period_start: seconds, current_period_end: seconds + 30 * 86_400 }
  return JSON.stringify({
    ...{ id: `sub_${n}`, object: 'subscription', customer: `cus_${n}`, status: n % 10 === 0 ? 'past_due' : 'active' },
    items: { object: 'list', data: [{ id: `si_${n}`, object: 'subscription_item', price, ...period }] },
    ...{ cancel_at_period_end: false, created: seconds, start_date: seconds, canceled_at: null, ended_at: null },
    ...{ transfer_data: null, application_fee_percent: null, latest_invoice: `in_${n}`, automatic_tax: { enabled: false } },
    metadata: { svc_kind: 'item', svc_tenant: `ten_${n}`, svc_item: 'itm_1', svc_attempt: `pay_${n}` },
  })
}
