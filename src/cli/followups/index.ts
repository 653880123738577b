// `tenantry followups`: work that follows changes and is not done: what it waits for, what was given up, and trying that again.
// It decides nothing; what is done shows in what it was about, not here.
import { noun } from '../kit/index.ts'
import { list } from './list.ts'
import { retry } from './retry.ts'
import { show } from './show.ts'

export const followups = noun('followups', 'Work that follows changes and is not done', [list, show, retry])
