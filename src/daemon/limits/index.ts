// The budget that a tenant's users share and how often an address may come: counts in memory or in Redis, holds what is to be slowed down,
// refuses what is beyond, and tells an operator of a tenant that stays near its budget. A store that is away lets everybody through.
// It does not know who calls: identity comes first, and what is not a tenant's call is not counted.
import './limits.tables.ts'

export { limitsRoutes } from './limits.routes.ts'
export { memoryStore } from './memory-store.ts'
export { type Limits, openLimits } from './open-limits.ts'
export { redisStore } from './redis-store.ts'
export { watchBudgets } from './watch-budgets.ts'
