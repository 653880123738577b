import type { Taken } from '../../core/limits/index.ts'

/**
 * Counts accepted requests by tenant, in memory or Redis, in a sliding window of 60 one-second buckets. `take` is atomic. The Redis store may
 * throw UNAVAILABLE.
 */
export type BudgetStore = Readonly<{
  name: 'memory' | 'redis'
  /** Counts one request of the tenant unless the budget is used up. */
  take(tenantId: string, budget: number): Taken | Promise<Taken>
  /** Removes a counted request that is not served. */
  giveBack(tenantId: string): void | Promise<void>
  /** Accepted requests of the window. */
  used(tenantId: string): number | Promise<number>
  /** Accepted requests of every tenant with at least one. */
  busy(): ReadonlyMap<string, number> | Promise<ReadonlyMap<string, number>>
  close(): Promise<void>
}>
