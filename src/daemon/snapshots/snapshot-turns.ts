import { isoIn, isoNow } from '../../core/kit/index.ts'
import type { SnapshotTask } from '../../core/snapshots/index.ts'
import type { Db, Tx } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import type { SnapshotTurnTable } from './snapshots.tables.ts'

export type Turn = Pick<SnapshotTurnTable, 'tenant_id' | 'task' | 'asked_at'>

const hourMs = 60 * 60_000
/** After this a turn is not worth taking any more: the next run of its job asks anew. */
const patienceMs: Readonly<Record<SnapshotTask, number>> = {
  daily: 20 * hourMs,
  prune: 6 * 24 * hourMs,
  check: 6 * 24 * hourMs,
  'check-data': 6 * 24 * hourMs,
  drill: 20 * hourMs,
}

/** Asks for something to be done for these tenants in their turn; asking twice asks once. */
export async function askForTurns({ db, clock }: Pick<SnapshotsDeps, 'db' | 'clock'>, task: SnapshotTask, tenantIds: readonly string[]) {
  const asked = { task, asked_at: isoNow(clock), until: isoIn(clock, patienceMs[task]) }
  const rows = tenantIds.map((tenant_id) => ({ tenant_id, ...asked }))
  for (let at = 0; at < rows.length; at += chunkSize)
    await db
      .insertInto('snapshot_turns')
      .values(rows.slice(at, at + chunkSize))
      .onConflict((c) => c.columns(['tenant_id', 'task']).doUpdateSet({ until: asked.until }))
      .execute()
}

const chunkSize = 500

/** Turns that wait, of these tasks; those that nobody could take in time are dropped. */
export async function waitingFor({ db, clock }: Pick<SnapshotsDeps, 'db' | 'clock'>, tasks: readonly SnapshotTask[]): Promise<Turn[]> {
  await db.deleteFrom('snapshot_turns').where('until', '<=', isoNow(clock)).execute()
  return db.selectFrom('snapshot_turns').selectAll().where('task', 'in', tasks).execute()
}

/** True until somebody takes it; one that was asked for anew since is another turn. */
export async function isWaiting(tx: Tx, { tenant_id, task, asked_at }: Turn): Promise<boolean> {
  const query = tx.selectFrom('snapshot_turns').select('task').where('tenant_id', '=', tenant_id).where('task', '=', task)
  return (await query.where('asked_at', '=', asked_at).executeTakeFirst()) !== undefined
}

/** Takes a turn off the list, in the transaction that acts upon it; false when it is gone. */
export async function takeTurn(db: Db | Tx, { tenant_id, task }: Turn): Promise<boolean> {
  const taken = await db.deleteFrom('snapshot_turns').where('tenant_id', '=', tenant_id).where('task', '=', task).executeTakeFirst()
  return taken.numDeletedRows > 0n
}
