import { isoIn, isoNow } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { type Tx, whileRenewed } from '../db/index.ts'
import type { Cron } from '../feature/index.ts'
import { type BegunRun, leaseMs, type RunDeps } from './begin-run.ts'
import { cronFailed } from './failed-alert.ts'
import { finishRun, renewRun } from './runs.repo.ts'
import type { RunTracker } from './track-runs.ts'

export type ExecuteDeps = RunDeps & Readonly<{ log: Logger; runs: RunTracker }>

/** Runs the job and stores how it ended; never throws for the job's own failure. A run that lost its lease is aborted. */
export async function executeRun(
  deps: ExecuteDeps,
  { job, run }: Readonly<{ job: Cron; run: BegunRun }>,
  draining: AbortSignal,
): Promise<void> {
  const { db, clock, log } = deps
  const finish = (tx: Tx, message: string) => finishRun(tx, { ...run, status: 'succeeded', message, finishedAt: isoNow(clock) })
  const renew = () => renewRun(db, run.id, { now: isoNow(clock), until: isoIn(clock, leaseMs) })
  const end = await whileRenewed({ clock, ttlMs: leaseMs, renew, stopping: draining }, (signal) => outcome(job, { signal, finish }))
  await db.transaction().execute(async (tx) => {
    const isEnd = await finishRun(tx, { ...run, ...end, finishedAt: isoNow(clock) })
    // Its work is in jobs, the last of which closes the alert. One that finished with its change has not failed.
    if (isEnd && job.isAlerted && end.status === 'failed') await raiseAlert(tx, clock, cronFailed(job.key, end.message))
  })
  log.info({ job: job.key, runId: run.id, status: end.status, message: end.message }, 'job ended')
}

type Outcome = Readonly<{ status: 'succeeded' | 'failed'; message: string }>

async function outcome(job: Cron, context: Parameters<Cron['run']>[0]): Promise<Outcome> {
  const { signal } = context
  try {
    const message = await job.run(context)
    return signal.aborted ? { status: 'failed', message: `stopped before its end: ${message}` } : { status: 'succeeded', message }
  } catch (error) {
    return { status: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}
