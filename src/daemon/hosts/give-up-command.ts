import { sql } from 'kysely'
import type { CommandError } from '../../core/hosts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { notBeforeHeard, openStatuses } from './expire-commands.ts'

/**
 * Gives up one open command, as long as nobody was given it since the caller looked; false otherwise. No failure handler is told: the caller
 * knows, and acts in the same transaction.
 */
export async function giveUpCommand(
  tx: Tx,
  clock: Clock,
  { id, leaseToken, error }: Readonly<{ id: string; leaseToken: number; error: CommandError }>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('commands')
    .set({
      status: 'expired',
      lease_until: null,
      finished_at: notBeforeHeard(isoNow(clock)),
      error: JSON.stringify(error),
      revision: sql`revision + 1`,
    })
    .where('id', '=', id)
    .where('lease_token', '=', leaseToken)
    .where('status', 'in', openStatuses)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
