// How much may be asked of the platform: the budget that a tenant's users share, who is slowed down and who refused, how often one
// address may come, when an operator is told. It counts nothing outside the values it is given and knows no clock;
// who is asking, and whether a call counts, is decided elsewhere.
export {
  type Budgets,
  defaultBudgets,
  delayMs,
  limitHeaders,
  lookOf,
  slowdownFrom,
  unchecked,
  utilisation,
  type Verdict,
  verdictOf,
} from './budget.ts'
export { limitsContract, RateLimits, TenantUse } from './contract.ts'
export { type Episode, type EpisodeStep, stepEpisode } from './episode.ts'
export { networkKey } from './network-key.ts'
export { advance, emptyWindow, giveBack, type SlidingWindow, type Taken, take, windowSeconds } from './sliding-window.ts'
export { nextTurn, type Spacing, type Turn } from './spacing.ts'
