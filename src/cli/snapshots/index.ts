// `tenantry snapshots`: list, take, restore, drill and abandon snapshots of boxes, and show how old their proofs are.
// It decides nothing about retention. A restore shows the data loss and asks for confirmation.
import { noun } from '../kit/index.ts'
import { abandon } from './abandon.ts'
import { drill } from './drill.ts'
import { list } from './list.ts'
import { proofs } from './proofs.ts'
import { recoverCommand } from './recover.ts'
import { restore } from './restore.ts'
import { take } from './take.ts'

export const snapshots = noun('snapshots', 'Manage box snapshots', [list, take, restore, recoverCommand, drill, proofs, abandon])
