import type { Selectable } from 'kysely'
import { dayOf, type Month, monthOf, monthsBetween, reportTimeOf } from '../../../core/billing/index.ts'
import { isoNow, newId } from '../../../core/kit/index.ts'
import { lockExclusive, type Tx } from '../../db/index.ts'
import type { ReportTable } from './billing.tables.ts'
import { usersToReport } from './count-users.ts'
import type { BillingDeps } from './deps.ts'
import { insertSpan, type NewSpan, newestSpans, spansOf, unreportedIn } from './spans.repo.ts'

export type ReportRow = Selectable<ReportTable>
type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random'>

/** An operator ended it: nothing charges it any more. */
export const isWaived = ({ sent_at, reason }: Pick<ReportRow, 'sent_at' | 'reason'>): boolean => sent_at !== null && reason !== null

const batch = 500

/** Counts and closes a month of every subscription that was installed in it. Returns how many were counted. */
export async function countMonth(deps: Deps, month: Month, signal: AbortSignal): Promise<number> {
  let counted = 0
  for (let after = '', last = batch; last === batch && !signal.aborted; ) {
    const page = { month, after, limit: batch }
    const ids = await deps.db.transaction().execute(async (tx) => {
      await lockExclusive(tx, plansLock)
      const found = await unreportedIn(tx, page)
      await planReports(deps, tx, { month, ids: found, at: reportTimeOf(month) })
      return found
    })
    counted += ids.length
    last = ids.length
    after = ids.at(-1) ?? after
  }
  return counted
}

/** Counts are made one after the other: a second one sees the first. */
const plansLock = 'billing-reports'

type Planned = Readonly<{ month: Month; ids: readonly string[]; at: string }>

/** Counts and closes a month of some subscriptions. */
async function planReports({ clock, random }: Deps, tx: Tx, { month, ids, at }: Planned): Promise<void> {
  if (ids.length === 0) return
  const day = dayOf(at)
  const [spans, users] = [await newestSpans(tx, ids), await usersToReport(tx, { month, ids, day })]
  const known = await tx
    .selectFrom('billing_reports')
    .selectAll()
    .where('payment_subscription_id', 'in', [...ids])
    .where('month', '=', month)
    .where('day', '=', day)
    .execute()
  const now = isoNow(clock)
  const added = ids.flatMap((id) => {
    const span = spans.get(id)
    if (!span || known.some((row) => row.payment_subscription_id === id)) return []
    const quantity = users.get(id) ?? 0
    return [
      {
        ...{ id: newId(random, 'use'), payment_subscription_id: id, month, day, tenant_id: span.tenant_id, item_id: span.item_id },
        ...{ customer_id: span.customer_id, quantity, unit_cents: span.unit_cents, currency: span.currency, event_at: at },
        ...{ revision: 1, closes_month: 1, sent_at: quantity === 0 ? now : null, claimed_cents: 0 },
        ...{ reason: null, invoice_id: null, invoice_item_id: null, created_at: now },
      },
    ]
  })
  if (added.length > 0) await tx.insertInto('billing_reports').values(added).execute()
  for (const row of known) {
    const quantity = users.get(row.payment_subscription_id) ?? 0
    const change = quantity === row.quantity ? {} : { quantity, revision: row.revision + 1, sent_at: null, reason: null }
    await tx
      .updateTable('billing_reports')
      .set({ closes_month: 1, ...change })
      .where('id', '=', row.id)
      .execute()
  }
}

type Ended = Readonly<{ id: string; isOver: boolean }>

/**
 * Counts the months of a subscription up to the end of its last installation. `isOver`: no invoice of the subscription follows. False if there is
 * nothing to count: it was installed again meanwhile, and the month is counted at its end.
 */
export const countUntilEnd = (deps: Deps, { id, isOver }: Ended): Promise<boolean> =>
  deps.db.transaction().execute(async (tx) => {
    await lockExclusive(tx, plansLock)
    const spans = await spansOf(tx, id)
    const [first, last] = [spans.at(0), spans.at(-1)]
    if (!first || !last || last.to_at === null || last.price_model !== 'per-active-user') return false
    const [from, to] = [first.from_at, last.to_at]
    for (const month of monthsBetween(monthOf(from), monthOf(to))) {
      if (await isClosed(tx, { id, month })) continue
      await planReports(deps, tx, { month, ids: [id], at: month < monthOf(to) ? reportTimeOf(month) : to })
    }
    if (isOver) await reopenLast(tx, id)
    return true
  })

/**
 * Reports that were sent and may be on no invoice are sent again, which charges what is missing and nothing else: the last one, and those whose item
 * was to be on the next invoice.
 */
async function reopenLast(tx: Tx, id: string): Promise<void> {
  const rows = await tx.selectFrom('billing_reports').selectAll().where('payment_subscription_id', '=', id).orderBy('event_at').execute()
  const isOpen = (row: ReportRow, nth: number) => nth === rows.length - 1 || (row.claimed_cents > 0 && row.invoice_id === null)
  for (const { id: report, revision } of rows.filter(isOpen).filter((row) => row.sent_at !== null && !isWaived(row)))
    await tx
      .updateTable('billing_reports')
      .set({ sent_at: null, revision: revision + 1 })
      .where('id', '=', report)
      .execute()
}

async function isClosed(tx: Tx, { id, month }: Readonly<{ id: string; month: Month }>): Promise<boolean> {
  const row = await tx
    .selectFrom('billing_reports')
    .select('id')
    .where('payment_subscription_id', '=', id)
    .where('month', '=', month)
    .where('closes_month', '=', 1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * An item is installed by a subscription, also again in the month that its cancellation closed: the month is counted again at its end. A count that
 * runs at the moment ends before.
 */
export async function beginSpan(tx: Tx, span: NewSpan): Promise<void> {
  await lockExclusive(tx, plansLock)
  await insertSpan(tx, span)
  await tx
    .updateTable('billing_reports')
    .set({ closes_month: 0 })
    .where('payment_subscription_id', '=', span.paymentSubscriptionId)
    .where('month', '=', monthOf(span.fromAt))
    .execute()
}
