import type { Taken } from '../../core/limits/index.ts'

/**
 * Where accepted requests are counted, by tenant. One contract for memory and Redis: a window of 60 one-second buckets that slides, and
 * `take` decides and counts in one step, however many ask at once. Any of it may throw where the store is another program.
 */
export type BudgetStore = Readonly<{
  name: 'memory' | 'redis'
  /** Counts one request of the tenant unless so many were accepted within the window. */
  take(tenantId: string, budget: number): Taken | Promise<Taken>
  /** A request that was counted is not served after all. */
  giveBack(tenantId: string): void | Promise<void>
  /** Accepted requests of the window. */
  used(tenantId: string): number | Promise<number>
  /** The same of every tenant that has any. */
  busy(): ReadonlyMap<string, number> | Promise<ReadonlyMap<string, number>>
  close(): Promise<void>
}>
