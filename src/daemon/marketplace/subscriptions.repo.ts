import type { Selectable } from 'kysely'
import type { ItemType, PaymentStatus, PriceModel, SubscriptionStatus } from '../../core/marketplace/index.ts'
import { type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import type { SubscriptionTable } from './marketplace.tables.ts'

/** Items that a tenant installed. Price columns are those of the installation. */
export type SubscriptionRecord = Readonly<{
  id: string
  tenantId: string
  itemId: string
  itemType: ItemType
  installedVersion: string
  status: SubscriptionStatus
  priceModel: PriceModel | null
  priceCents: number | null
  currency: string | null
  paymentPriceId: string | null
  paymentSubscriptionId: string | null
  paymentSubscriptionItemId: string | null
  paymentStatus: PaymentStatus
  /** End of the current period at the provider; null for a free item. */
  paidUntil: string | null
  installedTemplateId: string | null
  moduleId: string | null
  /** An app installed the module, not the organisation on its own. */
  ownsModule: boolean
  installedBy: string | null
  installedAt: string
  cancelledAt: string | null
  updatedAt: string
}>

const toSubscription = (row: Selectable<SubscriptionTable>): SubscriptionRecord => ({
  ...{ id: row.id, tenantId: row.tenant_id, itemId: row.item_id, itemType: row.item_type, installedVersion: row.installed_version },
  ...{ status: row.status, priceModel: row.price_model, priceCents: row.price_cents, currency: row.currency },
  ...{ paymentPriceId: row.payment_price_id, paymentSubscriptionId: row.payment_subscription_id },
  ...{ paymentSubscriptionItemId: row.payment_subscription_item_id, paymentStatus: row.payment_status, paidUntil: row.paid_until },
  ...{
    installedTemplateId: row.installed_template_id,
    moduleId: row.module_id,
    ownsModule: row.owns_module === 1,
    installedBy: row.installed_by,
  },
  ...{ installedAt: row.installed_at, cancelledAt: row.cancelled_at, updatedAt: row.updated_at },
})

const toRow = (one: SubscriptionRecord) => ({
  ...{ id: one.id, tenant_id: one.tenantId, item_id: one.itemId, item_type: one.itemType, installed_version: one.installedVersion },
  ...{ status: one.status, price_model: one.priceModel, price_cents: one.priceCents, currency: one.currency },
  ...{ payment_price_id: one.paymentPriceId, payment_subscription_id: one.paymentSubscriptionId },
  ...{ payment_subscription_item_id: one.paymentSubscriptionItemId, payment_status: one.paymentStatus, paid_until: one.paidUntil },
  ...{
    installed_template_id: one.installedTemplateId,
    module_id: one.moduleId,
    owns_module: one.ownsModule ? 1 : 0,
    installed_by: one.installedBy,
  },
  ...{ installed_at: one.installedAt, cancelled_at: one.cancelledAt, updated_at: one.updatedAt },
})

type Key = Readonly<{ tenantId: string; itemId: string } | { tenantId: string; id: string } | { paymentSubscriptionId: string }>

const query = (db: DbOrTx, key: Key) => {
  const all = db.selectFrom('marketplace_subscriptions').selectAll()
  if ('paymentSubscriptionId' in key) return all.where('payment_subscription_id', '=', key.paymentSubscriptionId)
  const own = all.where('tenant_id', '=', key.tenantId)
  return 'id' in key ? own.where('id', '=', key.id) : own.where('item_id', '=', key.itemId)
}

export async function findSubscription(db: DbOrTx, key: Key): Promise<SubscriptionRecord | undefined> {
  const row = await query(db, key).executeTakeFirst()
  return row && toSubscription(row)
}

/** The subscription, locked until the transaction ends. */
export async function lockSubscription(tx: Tx, key: Key): Promise<SubscriptionRecord | undefined> {
  const row = await query(tx, key).modifyEnd(forUpdate(tx)).executeTakeFirst()
  return row && toSubscription(row)
}

/** Subscriptions of a tenant, newest first: at most one for each item. */
export async function subscriptionsOf(db: DbOrTx, { tenantId }: Readonly<{ tenantId: string }>): Promise<SubscriptionRecord[]> {
  const rows = await db
    .selectFrom('marketplace_subscriptions')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('installed_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map(toSubscription)
}

/** Inserts or replaces the row of this tenant and item; its id stays. The caller has locked the row or the item. */
export async function storeSubscription(tx: Tx, one: SubscriptionRecord): Promise<SubscriptionRecord> {
  const row = toRow(one)
  const { id: _, tenant_id: __, item_id: ___, ...change } = row
  const stored = await tx
    .insertInto('marketplace_subscriptions')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'item_id']).doUpdateSet(change))
    .returningAll()
    .executeTakeFirstOrThrow()
  return toSubscription(stored)
}
