import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { AlertsNeeds } from './needs.ts'

/** Follow-up work that was given up has all its tries again. Throws NOT_FOUND when none of what was named is dead. */
export const retryDeadLetters = (
  { db, clock }: Pick<AlertsNeeds, 'db' | 'clock'>,
  actor: Actor,
  { ids }: { ids?: readonly number[] | undefined },
): Promise<{ retried: number }> =>
  db.transaction().execute(async (tx) => {
    let update = tx
      .updateTable('outbox')
      .set({ status: 'pending', attempts: 0, next_at: isoNow(clock), lease_until: null })
      .where('status', '=', 'dead')
    if (ids) update = update.where('id', 'in', ids)
    const retried = await update.returning(['id', 'topic']).execute()
    if (retried.length === 0 && ids) throw problem('NOT_FOUND', 'none of these was given up: `tenantry alerts list` shows what was')
    if (retried.length > 0) {
      const data = { letters: retried.slice(0, 100).map(({ id, topic }) => ({ id: Number(id), topic })), count: retried.length }
      await recordAudit(tx, clock, { actor, action: 'outbox.retried', data })
    }
    return { retried: retried.length }
  })
