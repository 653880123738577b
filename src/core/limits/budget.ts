import type { Plan } from '../boxes/index.ts'
import type { Taken } from './sliding-window.ts'

/** Requests per minute of all users of a tenant together, by plan (spec 8). */
export type Budgets = Readonly<Record<Plan, number>>

export const defaultBudgets: Budgets = { light: 2000, pro: 10_000, dedicated: 20_000 }

/** Requests are delayed above this utilisation, in percent. */
export const slowdownFrom = 80
/** Requests are delayed by the maximum from this utilisation on. */
const slowestFrom = 99
const maxDelayMs = 2000

/** Accepted requests of the window as a share of the budget, in percent. */
export const utilisation = (used: number, budget: number): number => (100 * used) / budget

/** Delay of a request after `used` accepted ones: 0 up to 80 %, then linear up to 2 s at 99 %. */
export function delayMs(used: number, budget: number): number {
  const above = 100 * used - slowdownFrom * budget
  if (above <= 0) return 0
  const delay = Math.round((maxDelayMs * above) / ((slowestFrom - slowdownFrom) * budget))
  return Math.min(maxDelayMs, Math.max(1, delay))
}

/** Above this utilisation, in percent, the rest of the budget is for members who used less than half of it. */
const reservedFrom = 90

/** True for a member who must leave the rest of the budget to the others. A member who is alone has the whole budget. */
export const isOverShare = ({ used, budget, own, isAlone }: Readonly<{ used: number; budget: number; own: number; isAlone: boolean }>) =>
  !isAlone && 2 * own > budget && utilisation(used, budget) >= reservedFrom

/** Accepted after `delayMs`, or refused if `retryAfterSeconds` is set. */
export type Verdict = Readonly<{ budget: number; remaining: number; delayMs: number; retryAfterSeconds?: number }>

export const verdictOf = (taken: Taken, budget: number): Verdict =>
  taken.accepted
    ? { budget, remaining: budget - taken.used - 1, delayMs: delayMs(taken.used, budget) }
    : { budget, remaining: 0, delayMs: 0, retryAfterSeconds: taken.retryAfterSeconds }

/** The verdict while the store is unavailable: accepted, with the whole budget remaining. */
export const unchecked = (budget: number): Verdict => ({ budget, remaining: budget, delayMs: 0 })

/** The verdict for a request that does not count. */
export const verdictOfRead = (used: number, budget: number): Verdict => ({ budget, remaining: Math.max(0, budget - used), delayMs: 0 })

/** Headers of every response with a known tenant (spec 8). `Retry-After` is set by the problem. */
export const limitHeaders = ({ budget, remaining, delayMs }: Verdict): Readonly<Record<string, string>> => ({
  'x-ratelimit-limit': String(budget),
  'x-ratelimit-remaining': String(remaining),
  ...(delayMs > 0 ? { 'x-ratelimit-slowdown': String(delayMs) } : {}),
})
