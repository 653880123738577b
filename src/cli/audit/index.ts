// `tenantry audit`: list the audit log, verify its hash chains, export them and sign checkpoints.
// Exports are verified in the CLI, by hashes and signatures alone. Without an export or checkpoint the daemon verifies its own chains.
import { noun } from '../kit/index.ts'
import { checkpoint, publicKey } from './checkpoint.ts'
import { exportChain } from './export.ts'
import { list } from './list.ts'
import { verify } from './verify.ts'

export const audit = noun('audit', 'List, verify and export the audit log', [list, verify, exportChain, checkpoint, publicKey])
