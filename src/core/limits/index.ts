// Rate limits: the budget of a tenant, the delay or refusal of a request, the pace of a client address, and when an alert is due.
// All functions are pure; the caller passes times and stores counts.
// Authentication, and the choice of calls that count, are decided elsewhere.
export { type AnonymousClass, anonymousBounds, anonymousClassOf } from './anonymous.ts'
export {
  type Budgets,
  defaultBudgets,
  delayMs,
  isOverShare,
  limitHeaders,
  slowdownFrom,
  unchecked,
  utilisation,
  type Verdict,
  verdictOf,
  verdictOfRead,
} from './budget.ts'
export { limitsContract, RateLimits, TenantUse } from './contract.ts'
export { type Episode, type EpisodeStep, stepEpisode } from './episode.ts'
export { networkKey } from './network-key.ts'
export { advance, emptyWindow, giveBack, type SlidingWindow, type Taken, take, windowSeconds } from './sliding-window.ts'
export { nextSlot, type Slot, type Spacing } from './spacing.ts'
