import { z } from 'zod'
import { monthBefore, monthOf } from '../../../core/billing/index.ts'
import { isoNow, isProblem } from '../../../core/kit/index.ts'
import { isPaymentFailure } from '../../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import { enqueueJob, type JobHandler, type Tx, type WithTx } from '../../db/index.ts'
import type { Cron } from '../../feature/index.ts'
import { cronFailed, cronFailedKey } from '../../work/index.ts'
import { billModules, priceModules } from './aggregate-usage.ts'
import type { BillingDeps } from './deps.ts'
import { payDevelopers } from './pay-developers.ts'
import { readInvoices } from './read-invoices.ts'
import { reconcileNext } from './reconcile.ts'
import { countMonths, sendUnsent } from './report-usage.ts'
import { retryTransfers, transfersTopic } from './transfer-statements.ts'
import { warnTenants } from './warn-tenants.ts'

type Deps = BillingDeps

/** `after`: the end of the page before. `isRetry`: transfers alone, between two statements. The others: what the pages before have found. */
const Payload = z.object({
  ...{ after: z.string().optional(), isRetry: z.boolean().optional() },
  ...{ count: z.int().optional(), checked: z.int().optional(), first: z.string().optional() },
})
type Payload = z.infer<typeof Payload>
type Next = Readonly<{ topic: string; payload?: Payload }>
type Done = Readonly<{ summary: string; next?: Next | null }>

/** A step is repeated from its begin when it was interrupted, so it stores what it has done or is one page. */
type Step = Readonly<{ cron: string; run(deps: Deps, payload: Payload, signal: AbortSignal): Promise<Done> }>

const aggregation = 'billing-usage-aggregation'
const reporting = 'marketplace-monthly-billing'
const payouts = 'billing-developer-payouts'
const announcement = 'billing-period-end-warning'
const comparison = 'billing-reconcile'

const steps: Readonly<Record<string, Step>> = {
  'billing.modules': {
    cron: aggregation,
    run: async (deps, _, signal) => ({ summary: await priceModules(deps, signal), next: { topic: 'billing.unbilled-modules' } }),
  },
  'billing.unbilled-modules': { cron: aggregation, run: async (deps, _, signal) => ({ summary: await billModules(deps, signal) }) },
  'billing.active-users': {
    cron: reporting,
    run: async (deps, _, signal) => ({ summary: await countMonths(deps, signal), next: { topic: 'billing.unsent-reports' } }),
  },
  'billing.unsent-reports': { cron: reporting, run: async (deps, _, signal) => ({ summary: await sendUnsent(deps, signal) }) },
  'billing.paid-invoices': { cron: payouts, run: readPaid },
  [transfersTopic]: { cron: payouts, run: (deps, payload, signal) => readPaid(deps, { ...payload, isRetry: true }, signal) },
  'billing.statements': {
    cron: payouts,
    run: async (deps, { isRetry = false }, signal) => ({ summary: await (isRetry ? retryTransfers : payDevelopers)(deps, signal) }),
  },
  'billing.announcements': {
    cron: announcement,
    run: async (deps, { after }, signal) => {
      const { summary, next } = await warnTenants(deps, after, signal)
      return { summary, next: nextPage('billing.announcements', next === null ? null : { after: next }) }
    },
  },
  'billing.comparison': {
    cron: comparison,
    run: async (deps, payload) => {
      const { summary, next } = await reconcileNext(deps, payload)
      return { summary, next: nextPage('billing.comparison', next) }
    },
  },
}

const nextPage = (topic: string, payload: Payload | null): Next | null => (payload === null ? null : { topic, payload })

async function readPaid(deps: Deps, { after = '', isRetry }: Payload, signal: AbortSignal): Promise<Done> {
  const month = monthBefore(monthOf(isoNow(deps.clock)))
  const end = deps.provider.name === 'none' ? null : await readInvoices(deps, { month, after }, signal)
  const payload = { ...(isRetry && { isRetry }) }
  if (end === null) return { summary: 'invoices of modules read', next: { topic: 'billing.statements', payload } }
  return { summary: `invoices of modules read up to ${end}`, next: { topic: 'billing.paid-invoices', payload: { ...payload, after: end } } }
}

/** The first step of each cron. */
const first = {
  [aggregation]: 'billing.modules',
  [reporting]: 'billing.active-users',
  [payouts]: 'billing.paid-invoices',
  [announcement]: 'billing.announcements',
  [comparison]: 'billing.comparison',
} as const

/**
 * A cron only enqueues its first step, and each step the next one: after a restart the job queue continues with the step that was
 * interrupted, on any replica, and repeats one that failed. The run ends with that: one that is lost has enqueued nothing.
 */
export async function beginSteps(
  { db, clock, provider }: Deps,
  cron: keyof typeof first,
  { finish }: Parameters<Cron['run']>[0],
): Promise<string> {
  const isOff = provider.name === 'none'
  if (isOff && cron === comparison) {
    const nothing = 'no payment provider is configured: nothing to compare'
    await db.transaction().execute(async (tx) => {
      await closeFailed(tx, clock, cron)
      await finish?.(tx, nothing)
    })
    return nothing
  }
  const off = isOff ? '; no payment provider is configured: nothing is charged or sent to one' : ''
  const summary = `queued${off}. Progress: tenantry jobs list ${topicsOf(cron).join(', then ')}`
  await db.transaction().execute(async (tx) => {
    await enqueueStep({ clock, tx }, { topic: first[cron] })
    await finish?.(tx, summary)
  })
  return summary
}

/** The steps of a run in their order. */
const topicsOf = (cron: string): string[] =>
  Object.entries(steps)
    .filter(([topic, step]) => step.cron === cron && topic !== transfersTopic)
    .map(([topic]) => `--topic ${topic}`)

const enqueueStep = ({ clock, tx }: WithTx<Pick<Deps, 'clock'>>, { topic, payload = {} }: Next): Promise<void> =>
  enqueueJob(tx, clock, { topic, payload, key: topic, pool: 'payments' })

/** The job handlers of all steps, by topic. */
export const stepHandlers = (deps: Deps): Readonly<Record<string, JobHandler>> =>
  Object.fromEntries(Object.entries(steps).map(([topic, step]) => [topic, handlerOf(deps, topic, step)]))

const handlerOf =
  (deps: Deps, topic: string, { cron, run }: Step): JobHandler =>
  async (payload, { last, signal = new AbortController().signal }) => {
    try {
      const input = Payload.parse(payload)
      const { summary, next } = await run(deps, input, signal)
      // A step that stopped early is not done.
      signal.throwIfAborted()
      await deps.db.transaction().execute(async (tx) => {
        if (next) await enqueueStep({ ...deps, tx }, next)
        // Transfers alone make no statements: a dead job that should have made them stays visible.
        else if (!input.isRetry) await closeFailed(tx, deps.clock, cron)
      })
      deps.log.info({ job: cron, topic }, summary)
    } catch (error) {
      if (last && !signal.aborted && !isNoAnswer(error) && !isTransfers(topic, payload)) await alertFailed(deps, cron, error)
      throw error
    }
  }

/** Transfers alone: `jobs_stuck` names their dead job, and closes with it. */
const isTransfers = (topic: string, payload: unknown): boolean =>
  topic === transfersTopic || Payload.safeParse(payload).data?.isRetry === true

/** The job waits for the provider as long as it takes. */
const isNoAnswer = (error: unknown): boolean =>
  (isProblem(error, 'PAYMENTS_UNAVAILABLE') && error.retryable) || (isPaymentFailure(error) && error.isRetryable)

const closeFailed = (tx: Tx, clock: Deps['clock'], jobKey: string): Promise<void> =>
  closeAlerts(tx, clock, { keys: [cronFailedKey(jobKey)], because: 'the job ran again' })

/** The job is dead: nothing continues the month. */
async function alertFailed({ db, clock }: Deps, jobKey: string, error: unknown): Promise<void> {
  const reason = error instanceof Error ? error.message : String(error)
  await db.transaction().execute((tx) => raiseAlert(tx, clock, cronFailed(jobKey, reason)))
}
