import { invoiceTimeOf } from '../../../core/billing/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { isLive, isPaymentFailure, usageMeterOf } from '../../../core/payments/index.ts'
import { claimUsage } from './claim-usage.ts'
import type { BillingDeps } from './deps.ts'
import type { ReportRow } from './plan-reports.ts'
import { newestSpans } from './spans.repo.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider' | 'log'>

const batch = 500
/** Calls of the provider at a time. */
const parallel = 8

/** `unbilled`: their customer does not exist any more. `isAway`: the provider did not answer a report. */
type Sent = Readonly<{ sent: number; waiting: number; unbilled: number; isAway: boolean }>

/** Sends what was counted and not sent, of one subscription or of all. What cannot be sent now stays for the next run. */
export async function sendReports(deps: Deps, signal: AbortSignal, id?: string): Promise<Sent> {
  const total = { sent: 0, waiting: 0, unbilled: 0, isAway: false }
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
      total.unbilled += done.reduce((sum, { unbilled }) => sum + unbilled, 0)
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
 * a later claim depends on it. Without their customer none can be sent.
 */
async function sendInOrder(deps: Deps, { reports, blocked, isInstalled }: OfSubscription) {
  const metered: ReportRow[] = []
  let sent = 0
  let isAway = false
  for (const row of reports) {
    if (blocked.has(row.payment_subscription_id)) break
    const done = await sendOne(deps, row, isInstalled)
    if (done === 'no customer') {
      const unbilled = reports.slice(sent)
      await setUnbilled(deps, unbilled)
      return { metered, sent, waiting: 0, unbilled: unbilled.length, isAway }
    }
    if (done === 'failed' || done === 'away') blocked.add(row.payment_subscription_id)
    else sent += 1
    isAway ||= done === 'away'
    if (done === 'metered') metered.push(row)
  }
  return { metered, sent, waiting: reports.length - sent, unbilled: 0, isAway }
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
    .set({ sent_at: isoNow(clock), reason: null })
    .where(({ eb, or, and }) => or(rows.map(({ id, revision }) => and([eb('id', '=', id), eb('revision', '=', revision)]))))
    .execute()
}

/** They stay until an operator waives them, and each run tries them again: a wrong key finds no customer either. */
async function setUnbilled({ db }: Deps, rows: readonly ReportRow[]): Promise<void> {
  for (const { id, customer_id } of rows)
    await db
      .updateTable('billing_reports')
      .set({ reason: `the payment customer ${customer_id} does not exist any more` })
      .where('id', '=', id)
      .where('sent_at', 'is', null)
      .execute()
}

type Outcome = 'metered' | 'claimed' | 'failed' | 'away' | 'no customer'

async function sendOne(deps: Deps, row: ReportRow, isInstalled: boolean): Promise<Outcome> {
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
    if (!isPaymentFailure(err)) return 'failed'
    if (err.isRetryable) return 'away'
    return (await isGone(deps, row)) ? 'no customer' : 'failed'
  }
}

/** Without an answer it is not known to be gone. */
const isGone = ({ provider }: Deps, { customer_id }: ReportRow): Promise<boolean> =>
  provider.getCustomer(customer_id).then(
    (found) => found === null,
    () => false,
  )

/** Whether the invoice of the usage is still open. The provider is asked only where the platform alone cannot know. */
async function isInTime({ clock, provider }: Deps, { event_at, payment_subscription_id: id }: ReportRow, isInstalled: boolean) {
  if (isInstalled && isoNow(clock) < invoiceTimeOf(event_at)) return true
  const found = await provider.getSubscription(id)
  return found !== null && isLive(found) && seconds(event_at) >= seconds(found.currentPeriodStart)
}

/** The provider knows no parts of a second. */
const seconds = (at: string): number => Math.floor(Date.parse(at) / 1000)
