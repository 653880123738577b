import type { Plan } from '../boxes/index.ts'
import type { Taken } from './sliding-window.ts'

/** Requests per minute that all users of a tenant share, by its plan (spec 8). */
export type Budgets = Readonly<Record<Plan, number>>

export const defaultBudgets: Budgets = { light: 2000, pro: 10_000, dedicated: 20_000 }

/** Up to this share of its budget, in percent, a tenant is served at full speed. */
export const slowdownFrom = 80
/** From this share on a request waits for `longestDelayMs`. */
const slowestFrom = 99
const longestDelayMs = 2000

/** Accepted requests of the window as a share of the budget, in percent. */
export const utilisation = (used: number, budget: number): number => (100 * used) / budget

/** How long a request waits before which `used` others were accepted: nothing up to 80 %, then growing evenly up to 2 s at 99 %. */
export function delayMs(used: number, budget: number): number {
  const above = 100 * used - slowdownFrom * budget
  if (above <= 0) return 0
  const delay = Math.round((longestDelayMs * above) / ((slowestFrom - slowdownFrom) * budget))
  return Math.min(longestDelayMs, Math.max(1, delay))
}

/** What a request meets: it goes on, after `delayMs` where that is not 0, or it is refused. */
export type Verdict = Readonly<{ budget: number; remaining: number; delayMs: number; retryAfterSeconds?: number }>

export const verdictOf = (taken: Taken, budget: number): Verdict =>
  taken.accepted
    ? { budget, remaining: budget - taken.used - 1, delayMs: delayMs(taken.used, budget) }
    : { budget, remaining: 0, delayMs: 0, retryAfterSeconds: taken.retryAfterSeconds }

/** Where nothing could be counted: let through, with the whole budget. */
export const unchecked = (budget: number): Verdict => ({ budget, remaining: budget, delayMs: 0 })

/** What is left, said of a request that does not count. */
export const lookOf = (used: number, budget: number): Verdict => ({ budget, remaining: Math.max(0, budget - used), delayMs: 0 })

/** The headers of every answer of which the tenant is known (spec 8). `Retry-After` goes with the refusal itself. */
export const limitHeaders = ({ budget, remaining, delayMs }: Verdict): Readonly<Record<string, string>> => ({
  'x-ratelimit-limit': String(budget),
  'x-ratelimit-remaining': String(remaining),
  ...(delayMs > 0 ? { 'x-ratelimit-slowdown': String(delayMs) } : {}),
})
