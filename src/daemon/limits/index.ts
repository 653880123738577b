// Rate limits per tenant and per client address: counts in memory or Redis, delays and refuses requests, and raises an alert for a tenant that
// stays above 80 % of its budget. An unavailable Redis lets all requests through.
// It never authenticates: calls are counted after authentication, and only calls of users of tenants.
import './limits.tables.ts'
import { limitsContract } from '../../core/limits/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { type ListDeps, listRateLimits } from './list-rate-limits.ts'
import { budgetWatch, type WatchDeps } from './watch-budgets.ts'

export { memoryStore } from './memory-store.ts'
export { type Limits, openLimits } from './open-limits.ts'
export { assertRedisUrl, redisStore } from './redis-store.ts'
export { budgetWatch } from './watch-budgets.ts'

export const limitsRoutes = (deps: ListDeps) => serveContract(limitsContract, { rateLimits: ({ query }) => listRateLimits(deps, query) })

export const limitsFeature = feature<Parameters<typeof limitsRoutes>[0] & WatchDeps>({
  name: 'limits',
  routes: limitsRoutes,
  loops: (deps) => [budgetWatch(deps)],
})
