import { monthBefore, monthOf, monthsBetween } from '../../../core/billing/index.ts'
import { isoIn, isoNow, plural, problem } from '../../../core/kit/index.ts'
import { enqueueJob, type JobHandler, type WithTx } from '../../db/index.ts'
import type { BillingDeps } from './deps.ts'
import { countMonth, countUntilEnd } from './plan-reports.ts'
import { sendReports } from './send-reports.ts'
import { closeSpan } from './spans.repo.ts'
import { watchUnbilled } from './watch-unbilled.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider' | 'log' | 'activeUsers'>

export const reportTopic = 'billing.report'

/** Months before the present one that are worked off. The provider takes no usage older than that as a report. */
const monthsBack = 12

/**
 * Counts the users of all finished months that are not closed. A count is stored before it is sent, and a repeated report replaces the former one, so
 * that repetition, a kill or two replicas report the same.
 */
export async function countMonths(deps: Deps, signal: AbortSignal): Promise<string> {
  await deps.activeUsers.flush()
  const last = monthBefore(monthOf(isoNow(deps.clock)))
  let counted = 0
  for (const month of monthsBetween(monthBefore(last, monthsBack - 1), last)) counted += await countMonth(deps, month, signal)
  return `${plural(counted, 'subscription')} counted`
}

/** A provider that does not answer costs the job no attempt. */
const notSent = (message: string, isAway: boolean): Error =>
  isAway
    ? problem('PAYMENTS_UNAVAILABLE', `${message}. fix: wait; the job is retried until the provider answers and accepts the key`)
    : new Error(message)

/** Sends what is counted, and throws until all of it is sent that can be: the next month would be too late for the invoice. */
export async function sendUnsent(deps: Deps, signal: AbortSignal): Promise<string> {
  const { sent, waiting, unbilled, isAway } = await sendReports(deps, signal)
  // An interrupted run has not tried everything.
  signal.throwIfAborted()
  await watchUnbilled(deps)
  if (waiting > 0) throw notSent(`${plural(waiting, 'report')} of usage ${waiting === 1 ? 'was' : 'were'} not sent`, isAway)
  return `${plural(sent, 'report')} sent, ${unbilled} unbilled`
}

/** The end may be reported before the last invoice is listed, and that is final about an hour later. Usage that it has is not charged again. */
const lastInvoiceMs = 2 * 60 * 60_000

/**
 * The item is not installed with the subscription any more: its users are reported. Repeated calls change nothing. `isOver`: the subscription has ended
 * at the provider, so no invoice of it follows.
 */
export async function endSpan({ tx, clock }: WithTx<Pick<Deps, 'clock'>>, { id, isOver = false }: Ended): Promise<void> {
  const isClosed = await closeSpan(tx, { id, at: isoNow(clock) })
  if (isClosed || isOver)
    await enqueueJob(tx, clock, {
      ...{ topic: reportTopic, payload: { id, isOver }, queue: `payments:${id}`, pool: 'payments' },
      ...(isOver && { runAt: isoIn(clock, lastInvoiceMs) }),
    })
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
  if (!(await countUntilEnd(deps, { id, isOver }))) return
  const { waiting, unbilled, isAway } = await sendReports(deps, new AbortController().signal, id)
  if (unbilled > 0) await watchUnbilled(deps)
  if (waiting > 0) throw notSent(`usage of the subscription ${id} was not sent`, isAway)
}
