import { type Selectable, sql } from 'kysely'
import { dayOf, type Month, monthEnd } from '../../../core/billing/index.ts'
import type { PriceModel } from '../../../core/marketplace/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { SpanTable } from './billing.tables.ts'

export type SpanRow = Selectable<SpanTable>

export type NewSpan = Readonly<{
  paymentSubscriptionId: string
  tenantId: string
  itemId: string
  customerId: string
  priceModel: PriceModel
  unitCents: number
  currency: string
  fromAt: string
}>

export async function insertSpan(tx: Tx, one: NewSpan): Promise<void> {
  const { tenantId, itemId, customerId, currency } = one
  await tx
    .insertInto('billing_spans')
    .values({
      ...{ payment_subscription_id: one.paymentSubscriptionId, from_at: one.fromAt, to_at: null },
      ...{ tenant_id: tenantId, item_id: itemId, customer_id: customerId, currency },
      ...{ price_model: one.priceModel, unit_cents: one.unitCents },
    })
    .onConflict((c) => c.doNothing())
    .execute()
}

/** False if no span was open. */
export async function closeSpan(tx: Tx, { id, at }: Readonly<{ id: string; at: string }>): Promise<boolean> {
  const closed = await tx
    .updateTable('billing_spans')
    .set({ to_at: at })
    .where('payment_subscription_id', '=', id)
    .where('to_at', 'is', null)
    .executeTakeFirst()
  return closed.numUpdatedRows > 0n
}

export const spansOf = (db: DbOrTx, id: string): Promise<SpanRow[]> =>
  db.selectFrom('billing_spans').selectAll().where('payment_subscription_id', '=', id).orderBy('from_at').execute()

type Page = Readonly<{ month: Month; after: string; limit: number }>

/** Subscriptions with a price per active user that were installed in the month, and whose month is not closed. */
export async function unreportedIn(db: DbOrTx, { month, after, limit }: Page): Promise<string[]> {
  const rows = await db
    .selectFrom('billing_spans as s')
    .select('s.payment_subscription_id as id')
    .distinct()
    .where('s.payment_subscription_id', '>', after)
    .where('s.price_model', '=', 'per-active-user')
    .where('s.from_at', '<', monthEnd(month))
    .where(({ eb, or }) => or([eb('s.to_at', 'is', null), eb('s.to_at', '>=', `${month}-01`)]))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('billing_reports as r')
            .select('r.id')
            .whereRef('r.payment_subscription_id', '=', 's.payment_subscription_id')
            .where('r.month', '=', month)
            .where('r.closes_month', '=', 1),
        ),
      ),
    )
    .orderBy('s.payment_subscription_id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** The newest span of each subscription. */
export async function newestSpans(db: DbOrTx, ids: readonly string[]): Promise<Map<string, SpanRow>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('billing_spans')
    .selectAll()
    .where('payment_subscription_id', 'in', [...ids])
    .orderBy('from_at')
    .execute()
  return new Map(rows.map((row) => [row.payment_subscription_id, row]))
}

type OfMonth = Readonly<{ month: Month; ids: readonly string[] }>

/** Users of the month by subscription: those who were active while the item was installed by it, by days. */
export async function usersOf(db: DbOrTx, { month, ids }: OfMonth): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  return bySubscription(usersWhileInstalled(db, month), ids)
}

/** As before, without those who were active while another subscription of the item had it installed. */
export async function usersAloneOf(db: DbOrTx, { month, ids }: OfMonth): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const alone = usersWhileInstalled(db, month).where(({ not, exists, selectFrom }) =>
    not(
      exists(
        selectFrom('billing_spans as o')
          .select('o.item_id')
          .whereRef('o.tenant_id', '=', 's.tenant_id')
          .whereRef('o.item_id', '=', 's.item_id')
          .whereRef('o.payment_subscription_id', '<>', 's.payment_subscription_id')
          .where('o.price_model', '=', 'per-active-user')
          .where(isActiveIn('o')),
      ),
    ),
  )
  return bySubscription(alone, ids)
}

async function bySubscription(users: ReturnType<typeof usersWhileInstalled>, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await users
    .select('s.payment_subscription_id as id')
    .where('s.payment_subscription_id', 'in', [...ids])
    .groupBy('s.payment_subscription_id')
    .execute()
  return new Map(rows.map((row) => [row.id, Number(row.users)]))
}

export type OfItem = Readonly<{ tenant_id: string; item_id: string }>
export const keyOf = ({ tenant_id, item_id }: OfItem): string => `${tenant_id} ${item_id}`

/** Users of the month by tenant and item: those who were active while it was installed by any subscription with a price per user. */
export async function usersOfItems(
  db: DbOrTx,
  { month, tenantIds }: Readonly<{ month: Month; tenantIds: readonly string[] }>,
): Promise<Map<string, number>> {
  if (tenantIds.length === 0) return new Map()
  const rows = await usersWhileInstalled(db, month)
    .select(['s.tenant_id', 's.item_id'])
    .where('s.tenant_id', 'in', [...tenantIds])
    .where('s.price_model', '=', 'per-active-user')
    .groupBy(['s.tenant_id', 's.item_id'])
    .execute()
  return new Map(rows.map((row) => [keyOf(row), Number(row.users)]))
}

const usersWhileInstalled = (db: DbOrTx, month: Month) =>
  db
    .selectFrom('billing_spans as s')
    .innerJoin('billing_active_users as a', 'a.tenant_id', 's.tenant_id')
    .select(({ fn }) => fn.count('a.user_id').distinct().as('users'))
    .where('a.month', '=', month)
    .where(isActiveIn('s'))

/** Whether a span has a day between the first and the last call of the user. */
const isActiveIn = (span: string) =>
  sql<boolean>`a.last_day >= substr(${sql.ref(`${span}.from_at`)}, 1, 10) and (${sql.ref(`${span}.to_at`)} is null or a.first_day <= substr(${sql.ref(`${span}.to_at`)}, 1, 10))`

/** The first day of the month on which the item was installed, for a price per month. */
export const isInstalledIn = ({ from_at, to_at }: Pick<SpanRow, 'from_at' | 'to_at'>, month: Month): boolean =>
  from_at < monthEnd(month) && (to_at === null || dayOf(to_at) >= `${month}-01`)
