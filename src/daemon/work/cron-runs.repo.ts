import type { CronRun } from '../../core/crons/index.ts'
import { elapsedMs, problem } from '../../core/kit/index.ts'
import { type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import type { CronRunTable } from './crons.tables.ts'

const toRun = (row: CronRunTable): CronRun => ({
  job_key: row.job_key,
  status: row.status,
  duration_ms: row.duration_ms === null ? null : Number(row.duration_ms),
  started_at: row.started_at,
  finished_at: row.finished_at,
  ...(row.message === null ? {} : { message: row.message }),
})

/** Runs of a cron, newest first. */
export async function runsOf(db: DbOrTx, key: string, limit: number): Promise<CronRun[]> {
  const rows = await db
    .selectFrom('cron_runs')
    .selectAll()
    .where('job_key', '=', key)
    .orderBy('started_at', 'desc')
    .orderBy('occurrence', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toRun)
}

export async function runById(db: DbOrTx, id: string): Promise<CronRun> {
  const row = await db.selectFrom('cron_runs').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `there is no run ${id}`)
  return toRun(row)
}

/**
 * First statements of a transaction that starts a run: two of them never start one at once. Returns up to when due times were handled; a new cron
 * has missed none.
 */
export async function lockCron(tx: Tx, key: string, now: string): Promise<Date> {
  await tx
    .insertInto('cron_jobs')
    .values({ job_key: key, served_until: now })
    .onConflict((c) => c.column('job_key').doNothing())
    .execute()
  const query = tx.selectFrom('cron_jobs').select('served_until').where('job_key', '=', key)
  return new Date((await query.modifyEnd(forUpdate(tx)).executeTakeFirstOrThrow()).served_until)
}

export async function servedUntil(tx: Tx, key: string, until: string): Promise<void> {
  await tx.updateTable('cron_jobs').set({ served_until: until }).where('job_key', '=', key).execute()
}

export async function insertRun(tx: Tx, row: CronRunTable): Promise<void> {
  await tx.insertInto('cron_runs').values(row).execute()
}

export async function runningRun(tx: Tx, key: string): Promise<CronRun | undefined> {
  const query = tx.selectFrom('cron_runs').selectAll().where('job_key', '=', key)
  const row = await query.where('status', '=', 'running').executeTakeFirst()
  return row && toRun(row)
}

/** False if the run has ended. */
export async function beginRun(db: DbOrTx, id: string, startedAt: string): Promise<boolean> {
  const running = db.updateTable('cron_runs').set({ started_at: startedAt }).where('id', '=', id)
  return (await running.where('status', '=', 'running').executeTakeFirst()).numUpdatedRows > 0n
}

export type RunEnd = Readonly<{ status: 'succeeded' | 'failed'; message: string }>

/** False if it ended before. */
export async function finishRun(
  db: DbOrTx,
  { id, startedAt, finishedAt }: Readonly<{ id: string; startedAt: string; finishedAt: string }>,
  { status, message }: RunEnd,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('cron_runs')
    .set({ status, finished_at: finishedAt, duration_ms: elapsedMs(startedAt, finishedAt), message: message.slice(0, 1000) })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function deleteRunsBefore(tx: Tx, key: string, before: string): Promise<void> {
  const old = tx.deleteFrom('cron_runs').where('job_key', '=', key).where('started_at', '<', before)
  await old.where('status', '<>', 'running').execute()
}
