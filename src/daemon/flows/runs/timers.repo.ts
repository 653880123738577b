import { sql } from 'kysely'
import type { TimerName } from '../../../core/boards/index.ts'
import { type Db, type DbOrTx, deleteRows, insertRows, type Tx, type Write } from '../../db/index.ts'

export type RunTimer = Readonly<{ tokenId: string | null; name: TimerName; at: string }>
type OfRun = Readonly<{ tenantId: string; runId: string }>

export function insertTimers({ tenantId, runId }: OfRun, timers: readonly RunTimer[]): Write {
  const rows = timers.map(({ tokenId, name, at }) => ({
    ...{ run_id: runId, token_id: tokenId ?? '', name, tenant_id: tenantId, due_at: at, paused: 0 },
  }))
  return insertRows('run_timers', rows)
}

/** Deletes the timers of a token; without one all of the run. */
export const deleteTimers = ({ tenantId, runId }: OfRun, tokenId?: string): Write =>
  deleteRows('run_timers', { tenant_id: tenantId, run_id: runId, ...(tokenId === undefined ? {} : { token_id: tokenId }) })

export async function deleteTimer(tx: Tx, { tenantId, runId }: OfRun, { tokenId, name }: Omit<RunTimer, 'at'>): Promise<void> {
  const query = tx.deleteFrom('run_timers').where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  await query
    .where('token_id', '=', tokenId ?? '')
    .where('name', '=', name)
    .execute()
}

/** A failed run keeps its timers, and they do not fire until a retry. */
export async function pauseTimers(tx: Tx, { tenantId, runId }: OfRun, paused: boolean): Promise<void> {
  const query = tx.updateTable('run_timers').set({ paused: paused ? 1 : 0 })
  await query.where('tenant_id', '=', tenantId).where('run_id', '=', runId).execute()
}

/** Whether the runs of the tenant have at least this many timers. */
export async function hasTimers(db: DbOrTx, tenantId: string, count: number): Promise<boolean> {
  const query = db.selectFrom('run_timers').select('tenant_id').where('tenant_id', '=', tenantId)
  return (
    (await query
      .limit(1)
      .offset(count - 1)
      .executeTakeFirst()) !== undefined
  )
}

export type DueRun = Readonly<{ tenantId: string; id: string; dueAt: string }>

/**
 * A page of the runs with a timer that is due, the longest due first; a run can be in several pages. Those of a suspended tenant fire when it is
 * resumed: its users cannot act before. Nothing is locked yet.
 */
export async function runsDue(
  db: Db,
  { now, after, limit }: Readonly<{ now: string; after: DueRun | undefined; limit: number }>,
): Promise<DueRun[]> {
  let query = db
    .selectFrom('run_timers')
    .select(['tenant_id', 'run_id', 'due_at'])
    .distinct()
    .where('paused', '=', 0)
    .where('due_at', '<=', now)
    // By the key of the tenant: this is asked twice a second.
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('tenants').select('id').whereRef('tenants.id', '=', 'run_timers.tenant_id').where('status', '=', 'active')),
    )
    .orderBy('due_at')
    .orderBy('run_id')
    .limit(limit)
  if (after)
    query = query
      .where('due_at', '>=', after.dueAt)
      .where(({ eb, or }) => or([eb('due_at', '>', after.dueAt), eb('run_id', '>', after.id)]))
  return (await query.execute()).map((row) => ({ tenantId: row.tenant_id, id: row.run_id, dueAt: row.due_at }))
}

/** The due timers of a run that the caller has locked, in the order in which they became due. */
export async function timersDue(tx: Tx, { tenantId, runId }: OfRun, now: string): Promise<RunTimer[]> {
  const rows = await tx
    .selectFrom('run_timers')
    .select(['token_id', 'name', 'due_at'])
    .where('tenant_id', '=', tenantId)
    .where('run_id', '=', runId)
    .where('paused', '=', 0)
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .orderBy('name', 'desc')
    // The order in which the tokens began: `t2` is before `t10`.
    .orderBy(sql`length(token_id)`)
    .orderBy('token_id')
    .execute()
  return rows.map((row) => ({ tokenId: row.token_id === '' ? null : row.token_id, name: row.name, at: row.due_at }))
}
