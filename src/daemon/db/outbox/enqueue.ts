import { type Clock, isoNow } from '../../../core/kit/index.ts'
import type { Lane } from '../../../core/outbox/index.ts'
import type { Tx } from '../database.ts'

/** `queue`: what may not be done at the same time, such as all locks of one chat server. It waits for others of its lane only. */
type OutboxPlace = Readonly<{
  lane?: Lane
  queue?: string
  /**
   * Whom it is about. Work for one key is done in the order it was noted, and the same work that was noted again meanwhile is done once: so
   * its handler has to go by what holds when it runs, not by what held when it was noted.
   */
  key?: string
}>

type Noted = OutboxPlace & Readonly<{ topic: string; payload: unknown }>

/**
 * Notes follow-up work in the transaction of the change that needs it, so that neither exists without the other. It touches nothing that
 * others touch: whoever works it off puts it into its queue.
 */
export async function enqueueOutbox(tx: Tx, clock: Clock, { topic, payload, lane = 'own', queue = topic, key }: Noted): Promise<void> {
  const now = isoNow(clock)
  await tx
    .insertInto('outbox')
    .values({
      topic,
      payload: JSON.stringify(payload),
      status: 'pending',
      attempts: 0,
      next_at: now,
      lease_until: null,
      last_error: null,
      created_at: now,
      lane,
      queue,
      key: key ?? null,
    })
    .execute()
}
