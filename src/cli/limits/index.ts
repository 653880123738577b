// `tenantry limits`: which tenants use how much of the requests that their plan allows.
// It changes nothing: budgets are settings of the daemon and follow the plan.
import { noun } from '../kit/index.ts'
import { top } from './top.ts'

export const limits = noun('limits', 'How much tenants ask of the platform', [top])
