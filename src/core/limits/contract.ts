import { z } from 'zod'
import { Plan } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging } from '../contract/index.ts'

/** Current utilisation of a tenant's budget. */
export const TenantUse = z.object({
  tenantId: z.string(),
  slug: z.string(),
  name: z.string(),
  plan: Plan,
  /** Requests per minute. */
  budget: z.int(),
  /** Accepted requests of the last 60 seconds. */
  used: z.int(),
  remaining: z.int(),
  /** `used` in percent of the budget, to a tenth. */
  utilisation: z.number(),
  /** Delay of the next request in milliseconds. */
  slowdownMs: z.int(),
})
export type TenantUse = z.infer<typeof TenantUse>

export const RateLimits = z.object({
  windowSeconds: z.int(),
  /** `memory` counts per process, `redis` for all replicas. */
  store: z.enum(['memory', 'redis']),
  tenants: z.array(TenantUse),
  nextCursor: z.string().nullable(),
})
export type RateLimits = z.infer<typeof RateLimits>

/** Request budgets of tenants (spec 8). */
export const limitsContract = {
  rateLimits: endpoint({
    method: 'GET',
    path: '/admin/rate-limits',
    auth: admin('viewer'),
    query: Paging.extend({
      plan: Plan.optional(),
      /** Minimum utilisation in percent (exclusive). */
      above: z.coerce.number().min(0).max(100).optional(),
    }),
    returns: RateLimits,
    problems: ['UNAVAILABLE'],
    summary: 'List tenants by current use of their budget, highest first; each page shows the use at its own time',
    spec: '4.6',
  }),
} as const satisfies Contract
