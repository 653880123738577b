import type { TimerName } from '../../core/boards/index.ts'
import { type Db, deleteRows, insertRows, type Tx, type Write } from '../db/index.ts'

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

/** Runs with a timer that is due, the longest due first. Nothing is locked yet. */
export async function runsDue(db: Db, now: string, limit: number): Promise<{ tenantId: string; id: string }[]> {
  const rows = await db
    .selectFrom('run_timers')
    .select(['tenant_id', 'run_id'])
    .where('paused', '=', 0)
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()
  const runs = new Map(rows.map((row) => [row.run_id, { tenantId: row.tenant_id, id: row.run_id }]))
  return [...runs.values()]
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
    .execute()
  return rows.map((row) => ({ tokenId: row.token_id === '' ? null : row.token_id, name: row.name, at: row.due_at }))
}
