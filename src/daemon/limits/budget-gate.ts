import { problem } from '../../core/kit/index.ts'
import { limitHeaders, lookOf, unchecked, type Verdict, verdictOf } from '../../core/limits/index.ts'
import type { BudgetStore } from './budget-store.ts'
import type { LimitsMetrics } from './limits-metrics.ts'
import type { WaitingRoom } from './waiting-room.ts'

export type GateDeps = Readonly<{
  store: BudgetStore
  budgetOf(tenantId: string): number | Promise<number>
  room: WaitingRoom
  metrics: LimitsMetrics
}>

/** What the gate needs of a response: Express has more. */
type Answered = Readonly<{
  closed: boolean
  set(headers: Readonly<Record<string, string>>): unknown
  on(event: 'close', listener: () => void): unknown
}>

/** One tenant's call at the door. */
export type BudgetGate = Readonly<{
  /**
   * Counts the call against its tenant's budget, says so in headers, and holds it as long as it must wait. False when the client left
   * meanwhile. Throws RATE_LIMITED.
   */
  pass(response: Answered, tenantId: string): Promise<boolean>
  /** Says in headers what the tenant has left, for an answer that does not count. It never throws: a login or refresh is done by then. */
  show(response: Answered, tenantId: string): Promise<void>
}>

export const budgetGate = (deps: GateDeps): BudgetGate => ({
  pass: async (response, tenantId) => {
    const verdict = await judge(deps, tenantId)
    if (verdict.delayMs > 0) return delayed(deps, response, tenantId, verdict)
    response.set(limitHeaders(verdict))
    if (verdict.retryAfterSeconds !== undefined) throw refused(deps, verdict.retryAfterSeconds)
    return true
  },
  show: async (response, tenantId) => {
    try {
      response.set(limitHeaders(await look(deps, tenantId)))
    } catch {} // the answer says nothing of a budget that cannot be read
  },
})

async function look({ store, budgetOf }: GateDeps, tenantId: string): Promise<Verdict> {
  const budget = await budgetOf(tenantId)
  try {
    return lookOf(await store.used(tenantId), budget)
  } catch {
    return unchecked(budget)
  }
}

/** A store that is away lets everybody through (spec 8). */
async function judge({ store, budgetOf, metrics }: GateDeps, tenantId: string): Promise<Verdict> {
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

function refused({ metrics }: GateDeps, retryAfterSeconds: number) {
  metrics.count('refused')
  const message = `all users of this organisation together have used up its requests per minute: wait ${retryAfterSeconds} s`
  return problem('RATE_LIMITED', message, { retryAfterSeconds })
}

/** One timer a request. Where too many wait already the call is refused, and not counted. */
async function delayed(deps: GateDeps, response: Answered, tenantId: string, verdict: Verdict): Promise<boolean> {
  const { room, metrics } = deps
  const left = new AbortController()
  const held = room.hold(tenantId, verdict.delayMs, left)
  if (!held) throw await crowded(deps, response, tenantId, verdict)
  metrics.count('delayed')
  response.set(limitHeaders(verdict))
  response.on('close', () => left.abort())
  if (response.closed) left.abort()
  await held
  return !response.closed
}

async function crowded({ store, metrics }: GateDeps, response: Answered, tenantId: string, verdict: Verdict) {
  metrics.count('crowded')
  try {
    await store.giveBack(tenantId)
  } catch {} // it leaves the window by itself
  response.set(limitHeaders({ ...verdict, remaining: verdict.remaining + 1, delayMs: 0 }))
  const retryAfterSeconds = Math.ceil(verdict.delayMs / 1000)
  return problem('RATE_LIMITED', `too many requests wait already: come again in ${retryAfterSeconds} s`, { retryAfterSeconds })
}
