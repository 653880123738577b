// `tenantry audit`: who did what, and whether the log still holds together.
// It proves nothing itself: the daemon checks the chains, this shows the verdict.
import { noun } from '../kit/index.ts'
import { list } from './list.ts'
import { verify } from './verify.ts'

export const audit = noun('audit', 'The hash-chained log of every admin act', [list, verify])
