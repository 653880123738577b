import { isoNow } from '../../core/kit/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import type { Cron } from '../feature/index.ts'
import { beginDueRun } from './begin-run.ts'
import { type ExecuteDeps, executeRun } from './execute-run.ts'
import { cronFailed } from './failed-alert.ts'
import { failExpiredRuns, lostMessage, registerJob } from './runs.repo.ts'

/** At the longest between two looks: clocks are set, machines sleep, and other replicas die. */
const maxSleepMs = 60_000

/**
 * Runs the jobs at their times until the signal aborts, then waits for the runs of this process. Every replica does this; the database decides
 * who gets a run. Time is the injected clock's.
 */
export async function runScheduler(deps: ExecuteDeps, jobs: readonly Cron[], signal: AbortSignal): Promise<void> {
  const { clock, log, runs } = deps
  while (!signal.aborted) {
    try {
      await beginAllDue(deps, jobs, signal)
    } catch (err) {
      log.warn({ err }, 'reading due jobs failed')
    }
    await clock.sleep(untilNext(deps, jobs), signal)
  }
  await runs.settled()
}

/** Begins everything that is due now; the runs continue in the background. */
export async function beginAllDue(deps: ExecuteDeps, jobs: readonly Cron[], signal: AbortSignal): Promise<void> {
  const { db, clock, runs } = deps
  await db.transaction().execute(async (tx) => {
    const lost = await failExpiredRuns(tx, isoNow(clock))
    for (const { key, isAlerted } of jobs) if (isAlerted && lost.includes(key)) await raiseAlert(tx, clock, cronFailed(key, lostMessage))
  })
  for (const job of jobs) {
    await registerJob(db, job.key, isoNow(clock))
    const run = await beginDueRun(deps, job)
    if (run) runs.watch(executeRun(deps, { job, run }, signal))
  }
}

function untilNext({ clock }: ExecuteDeps, jobs: readonly Cron[]): number {
  const now = clock.now()
  const waits = jobs.map((job) => (job.nextAfter(now)?.getTime() ?? Number.POSITIVE_INFINITY) - now.getTime())
  return Math.max(1, Math.min(maxSleepMs, ...waits))
}
