import { sql } from 'kysely'
import type { CommandError } from '../../core/hosts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'

export const openStatuses = ['queued', 'leased', 'running'] as const

/**
 * `finished_at` is never earlier than `heard_at`: a later `heard_at` marks a late answer, and a renewal under clock skew between replicas
 * must not look like one.
 */
const finishedAfterHeard = (now: string) => sql<string>`case when heard_at > ${now} then heard_at else ${now} end`

type ExpireInput = Readonly<{ error: CommandError; hostId?: string; deadlineBefore?: string; silentSince?: string }>

/**
 * Expires open commands and returns their ids: all of a host, those past their deadline, or leased ones whose agent is silent. `expired` means
 * that the daemon stopped waiting, not that nothing happened; a late result is still stored.
 */
export async function expireCommands(tx: Tx, now: string, { error, hostId, deadlineBefore, silentSince }: ExpireInput): Promise<string[]> {
  let update = tx
    .updateTable('commands')
    .set({
      status: 'expired',
      lease_until: null,
      finished_at: finishedAfterHeard(now),
      error: JSON.stringify(error),
      revision: sql`revision + 1`,
    })
    .where('status', 'in', openStatuses)
  if (hostId !== undefined) update = update.where('host_id', '=', hostId)
  if (deadlineBefore !== undefined) update = update.where('deadline_at', '<=', deadlineBefore)
  if (silentSince !== undefined) update = update.where('lease_token', '>', 0).where('heard_at', '<=', silentSince)
  return (await update.returning('id').execute()).map(({ id }) => id)
}

/**
 * Expires one open command if its lease token is unchanged; returns false otherwise. Failure handlers are not called: the caller handles the
 * failure in the same transaction.
 */
export async function abandonCommand(
  tx: Tx,
  clock: Clock,
  { id, leaseToken, error }: Readonly<{ id: string; leaseToken: number; error: CommandError }>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('commands')
    .set({
      status: 'expired',
      lease_until: null,
      finished_at: finishedAfterHeard(isoNow(clock)),
      error: JSON.stringify(error),
      revision: sql`revision + 1`,
    })
    .where('id', '=', id)
    .where('lease_token', '=', leaseToken)
    .where('status', 'in', openStatuses)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
