import { limitsContract } from '../../core/limits/index.ts'
import { serveContract } from '../http/index.ts'
import { type ListDeps, listRateLimits } from './list-rate-limits.ts'

export const limitsRoutes = (deps: ListDeps) => serveContract(limitsContract, { rateLimits: ({ query }) => listRateLimits(deps, query) })
