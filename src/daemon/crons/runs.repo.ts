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

/** Runs of a job, newest first. */
export async function runsOf(db: DbOrTx, jobKey: string, limit: number): Promise<CronRun[]> {
  const rows = await db
    .selectFrom('cron_runs')
    .selectAll()
    .where('job_key', '=', jobKey)
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

/** Records that the job exists from now on; a job without a record has missed no run. */
export async function registerJob(db: DbOrTx, jobKey: string, now: string): Promise<void> {
  await db
    .insertInto('cron_jobs')
    .values({ job_key: jobKey, served_until: now })
    .onConflict((c) => c.column('job_key').doNothing())
    .execute()
}

/** First statement of a transaction that begins a run: two of them never run at once. */
export async function lockJob(tx: Tx, jobKey: string): Promise<Date> {
  const row = await tx
    .selectFrom('cron_jobs')
    .select('served_until')
    .where('job_key', '=', jobKey)
    .modifyEnd(forUpdate(tx))
    .executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `job ${jobKey} does not exist. fix: \`tenantry crons list\``)
  return new Date(row.served_until)
}

export async function servedUntil(tx: Tx, jobKey: string, until: string): Promise<void> {
  await tx.updateTable('cron_jobs').set({ served_until: until }).where('job_key', '=', jobKey).execute()
}

export async function insertRun(tx: Tx, row: CronRunTable): Promise<void> {
  await tx.insertInto('cron_runs').values(row).execute()
}

/** The current run, if its process still lives. */
export async function runningRun(tx: Tx, jobKey: string, now: string): Promise<CronRun | undefined> {
  const row = await tx
    .selectFrom('cron_runs')
    .selectAll()
    .where('job_key', '=', jobKey)
    .where('status', '=', 'running')
    .where('lease_until', '>', now)
    .executeTakeFirst()
  return row && toRun(row)
}

/** Extends the lease of a run; false if it was lost. */
export async function renewRun(db: DbOrTx, id: string, { now, until }: Readonly<{ now: string; until: string }>): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('cron_runs')
    .set({ lease_until: until })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .where('lease_until', '>', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

type End = Readonly<{ id: string; status: 'succeeded' | 'failed'; startedAt: string; finishedAt: string; message: string }>

/** False if it ended before. */
export async function finishRun(db: DbOrTx, { id, status, startedAt, finishedAt, message }: End): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('cron_runs')
    .set({
      status,
      finished_at: finishedAt,
      duration_ms: elapsedMs(startedAt, finishedAt),
      message: message.slice(0, 1000),
      lease_until: null,
    })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export const lostMessage = 'the process that ran it is gone'

/** Runs whose process died are over; they are not begun again by themselves. Returns the keys of their jobs. */
export async function failExpiredRuns(db: DbOrTx, now: string): Promise<string[]> {
  const rows = await db
    .updateTable('cron_runs')
    .set({ status: 'failed', finished_at: now, lease_until: null, message: lostMessage })
    .where('status', '=', 'running')
    .where('lease_until', '<=', now)
    .returning('job_key')
    .execute()
  return rows.map((row) => row.job_key)
}

export async function deleteRunsBefore(tx: Tx, jobKey: string, before: string): Promise<void> {
  await tx.deleteFrom('cron_runs').where('job_key', '=', jobKey).where('started_at', '<', before).where('status', '<>', 'running').execute()
}
