import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { EndedBy } from '../../core/sessions/index.ts'
import { revoke as tellReplicas } from '../auth/index.ts'
import { forUpdate, type Tx } from '../db/index.ts'

/** What lost its standing: one session, all of a user's, or a whole tenant. */
type Lost = Readonly<{ kind: 'session' | 'user' | 'tenant'; id: string }>

/**
 * Ends sessions in the transaction of the change that ends them; every replica knows within a second, and so do their streams. A user's
 * sessions end for good: enabling the user again brings none back. Those of a tenant rest while the tenant's record says that it is suspended.
 * Call it late in the transaction: it holds the counter of the sequence until the commit.
 */
export async function revoke(
  tx: Tx,
  clock: Clock,
  { kind, id }: Lost,
  by: EndedBy = kind === 'user' ? 'disabled' : 'admin',
): Promise<void> {
  if (kind === 'session') return endSessions(tx, clock, [id], by)
  if (kind === 'user') await endAllOf(tx, clock, id, by)
  await tellReplicas(tx, clock, { kind: kindOf[kind], subject: id })
}

/**
 * Ends those of these sessions that are open. First all rows, always in the same order, then the sequence: two that end the same sessions at
 * once would otherwise wait for each other.
 */
export async function endSessions(tx: Tx, clock: Clock, ids: readonly string[], by: EndedBy): Promise<void> {
  const ended: string[] = []
  for (const id of [...ids].sort()) if (await end(tx, clock, id, by)) ended.push(id)
  for (const id of ended) await tellReplicas(tx, clock, { kind: kindOf.session, subject: id })
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

/** For what changes a user or tenant and ends nothing, such as other roles: replicas read the record again within a second. */
export const lookAgain = (tx: Tx, clock: Clock, { kind, id }: Lost): Promise<void> =>
  tellReplicas(tx, clock, { kind: kindOf[kind], subject: id })

export const kindOf = { session: 'user-session', user: 'user', tenant: 'tenant' } as const
