import { problem } from '../../core/kit/index.ts'
import { isOverShare, limitHeaders, unchecked, type Verdict, verdictOf, verdictOfRead } from '../../core/limits/index.ts'
import type { BudgetStore } from './budget-store.ts'
import type { DelayQueue } from './delay-queue.ts'
import type { LimitsMetrics } from './limits-metrics.ts'
import type { UserShares } from './user-shares.ts'

export type GateDeps = Readonly<{
  store: BudgetStore
  budgetOf(tenantId: string): number | Promise<number>
  delays: DelayQueue
  shares: UserShares
  metrics: LimitsMetrics
}>

/** The part of an Express response that the gate uses. */
type Answered = Readonly<{
  closed: boolean
  set(headers: Readonly<Record<string, string>>): unknown
  on(event: 'close', listener: () => void): unknown
}>

/** `userId`: absent for a caller that is no member. */
type Counted = Readonly<{ tenantId: string; userId?: string }>

/** Rate limit of calls by tenant. */
export type BudgetGate = Readonly<{
  /**
   * Counts the call against its tenant's budget, sets the limit headers, and delays it if needed. Returns false if the client disconnected
   * meanwhile. Throws RATE_LIMITED.
   */
  pass(response: Answered, caller: Counted): Promise<boolean>
  /** Sets the limit headers on a response that does not count. Never throws, because the login or refresh has succeeded. */
  show(response: Answered, tenantId: string): Promise<void>
}>

export const budgetGate = (deps: GateDeps): BudgetGate => ({
  pass: async (response, { tenantId, userId }) => {
    const verdict = await evaluate(deps, tenantId)
    if (userId !== undefined) await assertShare(deps, response, { tenantId, userId, verdict })
    if (verdict.delayMs > 0) return delayed(deps, response, { tenantId, verdict })
    response.set(limitHeaders(verdict))
    if (verdict.retryAfterSeconds !== undefined) throw refused(deps, verdict.retryAfterSeconds)
    return true
  },
  show: async (response, tenantId) => {
    try {
      response.set(limitHeaders(await readVerdict(deps, tenantId)))
    } catch {} // no headers without a readable budget
  },
})

async function readVerdict({ store, budgetOf }: GateDeps, tenantId: string): Promise<Verdict> {
  const budget = await budgetOf(tenantId)
  try {
    return verdictOfRead(await store.used(tenantId), budget)
  } catch {
    return unchecked(budget)
  }
}

/** An unavailable store lets all requests through (spec 8). */
async function evaluate({ store, budgetOf, metrics }: GateDeps, tenantId: string): Promise<Verdict> {
  const budget = await budgetOf(tenantId)
  try {
    const verdict = verdictOf(await store.take(tenantId, budget), budget)
    if (verdict.retryAfterSeconds === undefined && verdict.delayMs === 0) metrics.count('passed')
    return verdict
  } catch {
    metrics.count('unchecked')
    return unchecked(budget)
  }
}

/** One member must not use up the budget of all. */
async function assertShare(
  deps: GateDeps,
  response: Answered,
  { tenantId, userId, verdict }: Required<Counted> & Readonly<{ verdict: Verdict }>,
): Promise<void> {
  const { budget, remaining } = verdict
  const share = deps.shares.count(tenantId, userId)
  if (verdict.retryAfterSeconds !== undefined || !isOverShare({ ...share, budget, used: budget - remaining })) return
  deps.metrics.count('refused')
  await giveBack(deps, tenantId)
  response.set(limitHeaders({ ...verdict, remaining: remaining + 1, delayMs: 0 }))
  const message = 'You used more than half of the request budget of this organisation; the rest is for its other members. Retry in 5 s.'
  throw problem('RATE_LIMITED', message, { retryAfterSeconds: 5 })
}

async function giveBack({ store }: GateDeps, tenantId: string): Promise<void> {
  try {
    await store.giveBack(tenantId)
  } catch {} // the count expires with the window
}

function refused({ metrics }: GateDeps, retryAfterSeconds: number) {
  metrics.count('refused')
  const message = `The request budget of this organisation is used up. Retry in ${retryAfterSeconds} s.`
  return problem('RATE_LIMITED', message, { retryAfterSeconds })
}

/** Delays one request. If the delay queue is full, the request is refused and not counted. */
async function delayed(
  deps: GateDeps,
  response: Answered,
  { tenantId, verdict }: Readonly<{ tenantId: string; verdict: Verdict }>,
): Promise<boolean> {
  const { delays, metrics } = deps
  const left = new AbortController()
  const held = delays.hold(tenantId, verdict.delayMs, left)
  if (!held) throw await crowded(deps, response, { tenantId, verdict })
  metrics.count('delayed')
  response.set(limitHeaders(verdict))
  response.on('close', () => left.abort())
  if (response.closed) left.abort()
  await held
  return !response.closed
}

async function crowded(deps: GateDeps, response: Answered, { tenantId, verdict }: Readonly<{ tenantId: string; verdict: Verdict }>) {
  deps.metrics.count('crowded')
  await giveBack(deps, tenantId)
  response.set(limitHeaders({ ...verdict, remaining: verdict.remaining + 1, delayMs: 0 }))
  const retryAfterSeconds = Math.ceil(verdict.delayMs / 1000)
  return problem('RATE_LIMITED', `Too many requests are delayed already. Retry in ${retryAfterSeconds} s.`, { retryAfterSeconds })
}
