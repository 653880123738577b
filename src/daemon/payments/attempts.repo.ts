import type { Selectable } from 'kysely'
import type { SagaEntry } from '../../core/saga/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { AttemptTable } from './payments.tables.ts'

export type Attempt = Readonly<{
  id: string
  tenantId: string
  itemId: string
  customerId: string
  journal: readonly SagaEntry[]
  outcome: 'committed' | 'rolled_back' | null
  createdAt: string
  finishedAt: string | null
}>

const toAttempt = (row: Selectable<AttemptTable>): Attempt => ({
  ...{ id: row.id, tenantId: row.tenant_id, itemId: row.item_id, customerId: row.customer_id },
  journal: JSON.parse(row.journal) as SagaEntry[],
  ...{ outcome: row.outcome, createdAt: row.created_at, finishedAt: row.finished_at },
})

/** Throws a unique violation while another attempt of the tenant and item is open. */
export async function insertAttempt(tx: Tx, { id, tenantId, itemId, customerId, journal, createdAt }: Attempt): Promise<void> {
  await tx
    .insertInto('payment_attempts')
    .values({
      ...{ id, tenant_id: tenantId, item_id: itemId, customer_id: customerId, journal: JSON.stringify(journal), outcome: null },
      ...{ created_at: createdAt, updated_at: createdAt, finished_at: null },
    })
    .execute()
}

export async function findAttempt(db: DbOrTx, id: string): Promise<Attempt | undefined> {
  const row = await db.selectFrom('payment_attempts').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toAttempt(row)
}

export async function openAttempt(db: DbOrTx, { tenantId, itemId }: Pick<Attempt, 'tenantId' | 'itemId'>): Promise<Attempt | undefined> {
  const row = await db
    .selectFrom('payment_attempts')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('item_id', '=', itemId)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  return row && toAttempt(row)
}

type Written = Readonly<{ id: string; journal: readonly SagaEntry[]; at: string; outcome?: 'committed' | 'rolled_back' }>

export async function writeJournal(db: DbOrTx, { id, journal, at, outcome }: Written): Promise<void> {
  const end = outcome === undefined ? {} : { outcome, finished_at: at }
  await db
    .updateTable('payment_attempts')
    .set({ journal: JSON.stringify(journal), updated_at: at, ...end })
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .execute()
}

type Link = Readonly<{ paymentSubscriptionId: string; tenantId: string; itemId: string; createdAt: string }>

export async function storeLink(tx: Tx, link: Link): Promise<void> {
  await tx
    .insertInto('payment_links')
    .values({
      payment_subscription_id: link.paymentSubscriptionId,
      ...{ tenant_id: link.tenantId, item_id: link.itemId, created_at: link.createdAt },
    })
    .onConflict((conflict) => conflict.column('payment_subscription_id').doNothing())
    .execute()
}

/** The tenant that a subscription is or was paid for. */
export async function tenantOfLink(db: DbOrTx, paymentSubscriptionId: string): Promise<string | null> {
  const query = db.selectFrom('payment_links').select('tenant_id').where('payment_subscription_id', '=', paymentSubscriptionId)
  return (await query.executeTakeFirst())?.tenant_id ?? null
}

/** Whether an installation was once paid by the subscription. */
export async function isLinked(db: DbOrTx, paymentSubscriptionId: string): Promise<boolean> {
  return (await tenantOfLink(db, paymentSubscriptionId)) !== null
}
