import type { Actor } from '../../core/kit/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import type { Cron } from '../feature/index.ts'
import { beginManualRun } from './begin-run.ts'
import { type ExecuteDeps, executeRun } from './execute-run.ts'
import { registerJob, runById } from './runs.repo.ts'

/** How long the caller waits; the run itself continues. */
const maxWaitMs = 30_000

/** Runs a job now (spec 4.6). `success` says how it ended, or that it is on its way when it takes longer than the caller waits. Throws CONFLICT. */
export async function triggerJob(
  deps: ExecuteDeps,
  { actor, job }: Readonly<{ actor: Actor; job: Cron }>,
  draining: AbortSignal,
): Promise<{ success: boolean; message: string }> {
  const { db, clock } = deps
  await registerJob(db, job.key, isoNow(clock))
  const run = await beginManualRun(deps, actor, job)
  const over = new AbortController()
  deps.runs.watch(executeRun(deps, { job, run }, draining).finally(() => over.abort()))
  await clock.sleep(maxWaitMs, over.signal)
  const { status, message } = await runById(db, run.id)
  if (status === 'running') return { success: true, message: `${job.key} is running. Result: tenantry crons history ${job.key}` }
  return { success: status === 'succeeded', message: message ?? status }
}
