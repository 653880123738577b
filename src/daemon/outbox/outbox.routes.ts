import type { Clock } from '../../core/kit/index.ts'
import { outboxContract } from '../../core/outbox/index.ts'
import type { Db } from '../db/index.ts'
import { type Served, serve } from '../http/index.ts'
import { listFollowups, showFollowup } from './list-followups.ts'
import { retryFollowups } from './retry-followups.ts'

export const outboxRoutes = (deps: Readonly<{ db: Db; clock: Clock }>): Served[] => [
  serve(outboxContract.listFollowups, ({ query }) => listFollowups(deps, query)),
  serve(outboxContract.showFollowup, ({ params }) => showFollowup(deps, params)),
  serve(outboxContract.retryFollowups, ({ actor, body }) => retryFollowups(deps, actor, body)),
]
