import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { EndedBy } from '../../core/sessions/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { forUpdate, type Tx } from '../db/index.ts'

/**
 * Ends all sessions of a user in the transaction of the change; every replica and its streams know within a second. Enabling the user again restores
 * none. Call it late in the transaction: it holds the counter of the revocations until the commit.
 */
export async function endUserSessions(tx: Tx, clock: Clock, { userId, by }: Readonly<{ userId: string; by: EndedBy }>): Promise<void> {
  await endAllOf(tx, clock, userId, by)
  await publishRevocation(tx, clock, { kind: 'user', subject: userId })
}

/**
 * Ends those of these sessions that are open. First all rows, always in the same order, then the sequence: two that end the same sessions at
 * once would otherwise wait for each other.
 */
export async function endSessions(tx: Tx, clock: Clock, ids: readonly string[], by: EndedBy): Promise<void> {
  const ended: string[] = []
  for (const id of [...ids].sort()) if (await end(tx, clock, id, by)) ended.push(id)
  for (const id of ended) await publishRevocation(tx, clock, { kind: 'user-session', subject: id })
}

/** A user's, in the order in which everybody ends several. */
async function endAllOf(tx: Tx, clock: Clock, userId: string, by: EndedBy): Promise<void> {
  const open = tx.selectFrom('sessions').select('id').where('user_id', '=', userId).where('ended_at', 'is', null)
  await open.orderBy('id').modifyEnd(forUpdate(tx)).execute()
  await tx
    .updateTable('sessions')
    .set({ ended_at: isoNow(clock), ended_by: by })
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .execute()
}

/** False when there was nothing to end: it was over before, and everybody knows. */
async function end(tx: Tx, clock: Clock, id: string, by: EndedBy): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('sessions')
    .set({ ended_at: isoNow(clock), ended_by: by })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
