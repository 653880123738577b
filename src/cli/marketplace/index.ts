// `tenantry marketplace`: items with their prices, submissions of vendors, and the vendors.
// It decides nothing itself.
import { noun } from '../kit/index.ts'
import { items } from './items.ts'
import { submissions } from './submissions.ts'
import { vendors } from './vendors.ts'

export const marketplace = noun('marketplace', 'Items, submissions and vendors of the marketplace', [items, submissions, vendors])
