// The budget that a tenant's users share and how often an address may come: counts in memory or in Redis, holds what is to be slowed down,
// refuses what is beyond, and tells an operator of a tenant that stays near its budget. A store that is away lets everybody through.
// It does not know who calls: identity comes first, and what is not a tenant's call is not counted.
import './limits.tables.ts'
import type { Logger } from '../../node/index.ts'
import { releaseOwnLease } from '../db/index.ts'
import { feature, repeat } from '../feature/index.ts'
import { limitsRoutes } from './limits.routes.ts'
import { type WatchDeps, watchBudgets } from './watch-budgets.ts'

export { limitsRoutes } from './limits.routes.ts'
export { memoryStore } from './memory-store.ts'
export { type Limits, openLimits } from './open-limits.ts'
export { redisStore } from './redis-store.ts'
export { watchBudgets } from './watch-budgets.ts'

export const limitsFeature = feature<Parameters<typeof limitsRoutes>[0] & WatchDeps & Readonly<{ log: Logger }>>({
  name: 'limits',
  routes: limitsRoutes,
  loops: (deps) => [
    repeat(deps, {
      everyMs: 10_000,
      name: 'watching budgets',
      run: () => watchBudgets(deps),
      atEnd: () => releaseOwnLease(deps, { name: 'limits.watch', owner: deps.holder }),
    }),
  ],
})
