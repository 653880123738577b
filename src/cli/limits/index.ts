// `tenantry limits`: shows how much of its request budget each tenant uses.
// It changes nothing: budgets are settings of the daemon per plan.
import { noun } from '../kit/index.ts'
import { top } from './top.ts'

export const limits = noun('limits', 'Request budgets of tenants', [top])
