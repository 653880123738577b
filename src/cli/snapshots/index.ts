// `tenantry snapshots`: what each box could be brought back to, taking more, bringing one back, proving that it would come back.
// It decides nothing about what is kept; a restore is asked of a person, with what it loses, before it is asked of the daemon.
import { noun } from '../kit/index.ts'
import { drill } from './drill.ts'
import { list } from './list.ts'
import { restore } from './restore.ts'
import { take } from './take.ts'

export const snapshots = noun('snapshots', 'What boxes can be brought back to', [list, take, restore, drill])
