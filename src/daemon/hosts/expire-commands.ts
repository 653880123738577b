import { sql } from 'kysely'
import type { CommandError } from '../../core/hosts/index.ts'
import type { Tx } from '../db/index.ts'

export const openStatuses = ['queued', 'leased', 'running'] as const

/**
 * An answer that comes late is told by being heard of after this time. An agent that renewed a moment ago, by another replica's clock or while
 * this one waited for its turn, has not answered.
 */
export const notBeforeHeard = (now: string) => sql<string>`case when heard_at > ${now} then heard_at else ${now} end`

type Which = Readonly<{ error: CommandError; hostId?: string; deadlineBefore?: string; silentSince?: string }>

/**
 * Gives up open commands and answers their ids: all of a host, those past their deadline, or those that were taken and whose agent has not been
 * heard of since. `expired` says that the daemon stopped waiting, not that nothing happened; a late result is still taken in.
 */
export async function expireCommands(tx: Tx, now: string, { error, hostId, deadlineBefore, silentSince }: Which): Promise<string[]> {
  let update = tx
    .updateTable('commands')
    .set({
      status: 'expired',
      lease_until: null,
      finished_at: notBeforeHeard(now),
      error: JSON.stringify(error),
      revision: sql`revision + 1`,
    })
    .where('status', 'in', openStatuses)
  if (hostId !== undefined) update = update.where('host_id', '=', hostId)
  if (deadlineBefore !== undefined) update = update.where('deadline_at', '<=', deadlineBefore)
  if (silentSince !== undefined) update = update.where('lease_token', '>', 0).where('heard_at', '<=', silentSince)
  return (await update.returning('id').execute()).map(({ id }) => id)
}
