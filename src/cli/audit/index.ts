// `tenantry audit`: who did what, whether the log still holds together, and how it is proved where no daemon is.
// An export is judged here, by hashes and signatures alone; without one the daemon checks its own chains and this shows the verdict.
import { noun } from '../kit/index.ts'
import { checkpoint, publicKey } from './checkpoint.ts'
import { exportChain } from './export.ts'
import { list } from './list.ts'

import { verify } from './verify.ts'

export const audit = noun('audit', 'The hash-chained log of every admin act', [list, verify, exportChain, checkpoint, publicKey])
