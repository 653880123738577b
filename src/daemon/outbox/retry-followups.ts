import { type Actor, type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>
type Wanted = Readonly<{ ids?: readonly number[] | undefined; topic?: string | undefined }>

/** Work that was given up has all its tries again. Throws NOT_FOUND when none of what was named is dead. */
export const retryFollowups = ({ db, clock }: Deps, actor: Actor, { ids, topic }: Wanted): Promise<{ retried: number }> =>
  db.transaction().execute(async (tx) => {
    let update = tx
      .updateTable('outbox')
      .set({ status: 'pending', attempts: 0, next_at: isoNow(clock), lease_until: null })
      .where('status', '=', 'dead')
    if (ids) update = update.where('id', 'in', ids)
    if (topic !== undefined) update = update.where('topic', '=', topic)
    const retried = await update.returning(['id', 'topic']).execute()
    if (retried.length === 0 && ids)
      throw problem('NOT_FOUND', 'none of these was given up: `tenantry followups list --state dead` shows what was')
    if (retried.length > 0) {
      const data = { letters: retried.slice(0, 100).map((one) => ({ id: Number(one.id), topic: one.topic })), count: retried.length }
      await recordAudit(tx, clock, { actor, action: 'outbox.retried', data })
    }
    return { retried: retried.length }
  })
