import { limitsContract } from '../../core/limits/index.ts'
import { type Served, serve } from '../http/index.ts'
import { type ListDeps, listRateLimits } from './list-rate-limits.ts'

export const limitsRoutes = (deps: ListDeps): Served[] => [serve(limitsContract.rateLimits, ({ query }) => listRateLimits(deps, query))]
