import { limitsContract } from '../../core/limits/index.ts'
import { type Served, serve } from '../http/index.ts'
import { type ListNeeds, listRateLimits } from './list-rate-limits.ts'

export const limitsRoutes = (needs: ListNeeds): Served[] => [serve(limitsContract.rateLimits, ({ query }) => listRateLimits(needs, query))]
