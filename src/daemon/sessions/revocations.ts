import type { Clock } from '../../core/kit/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { revoke as tellReplicas } from '../auth/index.ts'
import type { Tx } from '../db/index.ts'
import type { EndedBy } from './sessions.tables.ts'

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
  if (kind !== 'tenant') {
    const ended = await tx
      .updateTable('sessions')
      .set({ ended_at: isoNow(clock), ended_by: by })
      .where(kind === 'user' ? 'user_id' : 'id', '=', id)
      .where('ended_at', 'is', null)
      .executeTakeFirst()
    if (kind === 'session' && ended.numUpdatedRows === 0n) return // it was over before, and everybody knows
  }
  await tellReplicas(tx, clock, { kind: kindOf[kind], subject: id })
}

/** For what changes a user or tenant and ends nothing, such as other roles: replicas read the record again within a second. */
export const lookAgain = (tx: Tx, clock: Clock, { kind, id }: Lost): Promise<void> =>
  tellReplicas(tx, clock, { kind: kindOf[kind], subject: id })

export const kindOf = { session: 'user-session', user: 'user', tenant: 'tenant' } as const
