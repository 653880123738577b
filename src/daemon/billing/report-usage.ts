import type { Selectable } from 'kysely'
import {
  dayOf,
  invoiceTimeOf,
  type Month,
  monthBefore,
  monthOf,
  monthsBetween,
  plannedQuantity,
  reportTimeOf,
} from '../../core/billing/index.ts'
import { isoNow, newId, plural, problem } from '../../core/kit/index.ts'
import { isLive, isPaymentFailure, usageMeterOf } from '../../core/payments/index.ts'
import { enqueueJob, type JobHandler, lockExclusive, type Tx } from '../db/index.ts'
import type { ReportTable } from './billing.tables.ts'
import { claimUsage } from './claim-usage.ts'
import type { BillingDeps } from './deps.ts'
import { newestSpans, spansOf, unreportedIn, usersOf } from './spans.repo.ts'

export type ReportRow = Selectable<ReportTable>
type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider' | 'log' | 'activeUsers'>

export const reportTopic = 'billing.report'
export const unsentTopic = 'billing.unsent-reports'

/** Months before the present one that are worked off. The provider takes no usage older than that as a report. */
const monthsBack = 12
const batch = 500
/** Calls of the provider at a time. */
const parallel = 8

/**
 * Counts the users of all finished months that are not closed, and reports them. A count is stored before it is sent, and a repeated report replaces
 * the former one, so that repetition, a kill or two replicas report the same.
 */
export async function reportMonths(deps: Deps, signal: AbortSignal): Promise<string> {
  await deps.activeUsers.flush()
  const last = monthBefore(monthOf(isoNow(deps.clock)))
  let counted = 0
  for (const month of monthsBetween(monthBefore(last, monthsBack - 1), last)) counted += await countMonth(deps, month, signal)
  const { sent, waiting } = await sendReports(deps, signal)
  if (waiting > 0)
    await deps.db
      .transaction()
      .execute((tx) => enqueueJob(tx, deps.clock, { topic: unsentTopic, payload: {}, key: unsentTopic, pool: 'mail' }))
  return `${plural(counted, 'subscription')} counted, ${plural(sent, 'report')} sent${waiting > 0 ? `, ${waiting} not sent` : ''}`
}

async function countMonth(deps: Deps, month: Month, signal: AbortSignal): Promise<number> {
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

/** Counts and closes a month. */
async function planReports({ clock, random }: Deps, tx: Tx, { month, ids, at }: Planned): Promise<void> {
  if (ids.length === 0) return
  const day = dayOf(at)
  const [spans, users] = [await newestSpans(tx, ids), await usersOf(tx, { month, ids })]
  const known = await tx
    .selectFrom('billing_reports')
    .selectAll()
    .where('payment_subscription_id', 'in', [...ids])
    .where('month', '=', month)
    .execute()
  const now = isoNow(clock)
  const added = ids.flatMap((id) => {
    const span = spans.get(id)
    if (!span || known.some((row) => row.payment_subscription_id === id && row.day === day)) return []
    const quantity = quantityOf(known, { id, day, users: users.get(id) ?? 0 })
    return [
      {
        ...{ id: newId(random, 'use'), payment_subscription_id: id, month, day, tenant_id: span.tenant_id, item_id: span.item_id },
        ...{ customer_id: span.customer_id, quantity, unit_cents: span.unit_cents, currency: span.currency, event_at: at },
        ...{ revision: 1, closes_month: 1, sent_at: quantity === 0 ? now : null, claimed_cents: 0 },
        ...{ invoice_id: null, invoice_item_id: null, created_at: now },
      },
    ]
  })
  if (added.length > 0) await tx.insertInto('billing_reports').values(added).execute()
  for (const row of known.filter((one) => one.day === day)) {
    const quantity = quantityOf(known, { id: row.payment_subscription_id, day, users: users.get(row.payment_subscription_id) ?? 0 })
    const change = quantity === row.quantity ? {} : { quantity, revision: row.revision + 1, sent_at: null }
    await tx
      .updateTable('billing_reports')
      .set({ closes_month: 1, ...change })
      .where('id', '=', row.id)
      .execute()
  }
}

type Counted = Readonly<{ id: string; day: string; users: number }>

const quantityOf = (known: readonly ReportRow[], { id, day, users }: Counted): number => {
  const others = known.filter((row) => row.payment_subscription_id === id && row.day !== day)
  return plannedQuantity({ users, reportedOnOtherDays: others.reduce((sum, { quantity }) => sum + quantity, 0) })
}

/** A provider that does not answer costs the job no attempt. */
const notSent = (message: string, isAway: boolean): Error =>
  isAway ? problem('PAYMENTS_UNAVAILABLE', `${message}. fix: wait; the job is retried until the provider answers`) : new Error(message)

/** Sends what the monthly job could not send: the next month would be too late for the invoice. */
export const sendUnsent =
  (deps: Deps): JobHandler =>
  async (_, { signal = new AbortController().signal }) => {
    const { waiting, isAway } = await sendReports(deps, signal)
    if (waiting > 0) throw notSent(`${plural(waiting, 'report')} of usage ${waiting === 1 ? 'was' : 'were'} not sent`, isAway)
  }

/** Reports the users of a subscription up to the end of its installation, before its last invoice. */
export const reportEnded =
  (deps: Deps): JobHandler =>
  (payload) =>
    reportUntilEnd(deps, payload as Ended)

type Ended = Readonly<{ id: string; isOver?: boolean }>

/** Throws if a report was not sent; it can be repeated. `isOver`: no invoice of the subscription follows. */
export async function reportUntilEnd(deps: Deps, { id, isOver = false }: Ended): Promise<void> {
  await deps.activeUsers.flush()
  const spans = await spansOf(deps.db, id)
  const [first, last] = [spans.at(0), spans.at(-1)]
  // Installed again meanwhile: the month is counted at its end.
  if (!first || !last || last.to_at === null || last.price_model !== 'per-active-user') return
  const to = last.to_at
  await deps.db.transaction().execute(async (tx) => {
    await lockExclusive(tx, plansLock)
    for (const month of monthsBetween(monthOf(first.from_at), monthOf(to))) {
      if (await isClosed(tx, { id, month })) continue
      await planReports(deps, tx, { month, ids: [id], at: month < monthOf(to) ? reportTimeOf(month) : to })
    }
    if (isOver) await reopenLast(tx, id)
  })
  const { waiting, isAway } = await sendReports(deps, new AbortController().signal, id)
  if (waiting > 0) throw notSent(`usage of the subscription ${id} was not sent`, isAway)
}

/** A report that was sent may be on no invoice: it is sent again, which charges what is missing and nothing else. */
async function reopenLast(tx: Tx, id: string): Promise<void> {
  const of = tx.selectFrom('billing_reports').select(['id', 'revision', 'sent_at']).where('payment_subscription_id', '=', id)
  const last = await of.orderBy('event_at', 'desc').limit(1).executeTakeFirst()
  if (!last || last.sent_at === null) return
  const again = { sent_at: null, revision: last.revision + 1 }
  await tx.updateTable('billing_reports').set(again).where('id', '=', last.id).execute()
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

/** An item that is installed again in the month that its cancellation closed: the month is counted again at its end. */
export async function reopenMonth(tx: Tx, { id, month }: Readonly<{ id: string; month: Month }>): Promise<void> {
  await tx
    .updateTable('billing_reports')
    .set({ closes_month: 0 })
    .where('payment_subscription_id', '=', id)
    .where('month', '=', month)
    .execute()
}

/** `isAway`: the provider did not answer a report. */
type Sent = Readonly<{ sent: number; waiting: number; isAway: boolean }>

/** Sends what was counted and not sent, of one subscription or of all. What cannot be sent now stays for the next run. */
async function sendReports(deps: Deps, signal: AbortSignal, id?: string): Promise<Sent> {
  const total = { sent: 0, waiting: 0, isAway: false }
  if (deps.provider.name === 'none') return total
  const blocked = new Set<string>()
  for (let after = { subscription: '', day: '' }, last = batch; last === batch && !signal.aborted; ) {
    const rows = await unsent(deps, after, id)
    const ids = [...new Set(rows.map((row) => row.payment_subscription_id))]
    const spans = await newestSpans(deps.db, ids)
    for (let from = 0; from < ids.length && !signal.aborted; from += parallel) {
      const group = ids.slice(from, from + parallel)
      const send = (one: string) => {
        const reports = rows.filter((row) => row.payment_subscription_id === one)
        return sendInOrder(deps, { reports, blocked, isInstalled: spans.get(one)?.to_at === null })
      }
      const done = await Promise.all(group.map(send))
      await markSent(
        deps,
        done.flatMap(({ metered }) => metered),
      )
      total.sent += done.reduce((sum, { sent }) => sum + sent, 0)
      total.waiting += done.reduce((sum, { waiting }) => sum + waiting, 0)
      total.isAway ||= done.some(({ isAway }) => isAway)
    }
    last = rows.length
    const end = rows.at(-1)
    if (end) after = { subscription: end.payment_subscription_id, day: end.day }
  }
  return total
}

type OfSubscription = Readonly<{ reports: readonly ReportRow[]; blocked: Set<string>; isInstalled: boolean }>

/**
 * Sends the reports of one subscription. After a failure the later ones wait: a call without response may still be carried out, and the amount of
 * a later claim depends on it.
 */
async function sendInOrder(deps: Deps, { reports, blocked, isInstalled }: OfSubscription) {
  const metered: ReportRow[] = []
  let sent = 0
  let isAway = false
  for (const row of reports) {
    if (blocked.has(row.payment_subscription_id)) break
    const done = await sendOne(deps, row, isInstalled)
    if (done === 'failed' || done === 'away') blocked.add(row.payment_subscription_id)
    else sent += 1
    isAway ||= done === 'away'
    if (done === 'metered') metered.push(row)
  }
  return { metered, sent, waiting: reports.length - sent, isAway }
}

const unsent = ({ db }: Deps, after: Readonly<{ subscription: string; day: string }>, id: string | undefined): Promise<ReportRow[]> => {
  const rows = db
    .selectFrom('billing_reports')
    .selectAll()
    .where('sent_at', 'is', null)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('payment_subscription_id', 'day'), '>', tuple(after.subscription, after.day)))
    .orderBy('payment_subscription_id')
    .orderBy('day')
    .limit(batch)
  return (id === undefined ? rows : rows.where('payment_subscription_id', '=', id)).execute()
}

/** A revision that was raised meanwhile is sent again. */
async function markSent({ db, clock }: Deps, rows: readonly ReportRow[]): Promise<void> {
  if (rows.length === 0) return
  await db
    .updateTable('billing_reports')
    .set({ sent_at: isoNow(clock) })
    .where(({ eb, or, and }) => or(rows.map(({ id, revision }) => and([eb('id', '=', id), eb('revision', '=', revision)]))))
    .execute()
}

async function sendOne(deps: Deps, row: ReportRow, isInstalled: boolean): Promise<'metered' | 'claimed' | 'failed' | 'away'> {
  try {
    if (!(await isInTime(deps, row, isInstalled)) && (await claimUsage(deps, row))) return 'claimed'
    await deps.provider.reportUsage({
      ...{ eventName: usageMeterOf(row.item_id), customerId: row.customer_id, quantity: row.quantity, at: row.event_at },
      identifier: `${row.payment_subscription_id}:${row.month}:${row.day}:${row.revision}`,
    })
    return 'metered'
  } catch (err) {
    const facts = { subscriptionId: row.payment_subscription_id, month: row.month }
    deps.log.warn({ ...(isPaymentFailure(err) ? { reason: err.message } : { err }), ...facts }, 'a report of usage was not sent')
    return isPaymentFailure(err) && err.isRetryable ? 'away' : 'failed'
  }
}

/** Whether the invoice of the usage is still open. The provider is asked only where the platform alone cannot know. */
async function isInTime({ clock, provider }: Deps, { event_at, payment_subscription_id: id }: ReportRow, isInstalled: boolean) {
  if (isInstalled && isoNow(clock) < invoiceTimeOf(event_at)) return true
  const found = await provider.getSubscription(id)
  return found !== null && isLive(found) && seconds(event_at) >= seconds(found.currentPeriodStart)
}

/** The provider knows no parts of a second. */
const seconds = (at: string): number => Math.floor(Date.parse(at) / 1000)
