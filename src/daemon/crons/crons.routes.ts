import { cronsContract } from '../../core/crons/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type Served, serve } from '../http/index.ts'
import type { ExecuteNeeds } from './execute-run.ts'
import type { DefinedJob } from './job.ts'
import { runsOf } from './runs.repo.ts'
import { triggerJob } from './trigger-job.ts'

/** `draining` aborts when the daemon stops: a run that was triggered by hand then ends as others do. */
export type CronsNeeds = ExecuteNeeds & Readonly<{ jobs: readonly DefinedJob[]; draining: AbortSignal }>

export const cronsRoutes = (needs: CronsNeeds): Served[] => [
  serve(cronsContract.listCrons, async () => ({ crons: await Promise.all(needs.jobs.map((job) => describe(needs, job))) })),
  serve(cronsContract.triggerCron, async ({ actor, params }) => triggerJob(needs, actor, jobOf(needs, params.jobKey), needs.draining)),
  serve(cronsContract.cronHistory, async ({ params, query }) => ({
    runs: await runsOf(needs.db, jobOf(needs, params.jobKey).key, query.limit),
  })),
]

function jobOf({ jobs }: CronsNeeds, key: string): DefinedJob {
  const job = jobs.find((one) => one.key === key)
  if (!job) throw problem('NOT_FOUND', `there is no job ${key}: \`tenantry crons list\` shows all`)
  return job
}

async function describe({ db, clock }: CronsNeeds, { key, expression, description, nextAfter }: DefinedJob) {
  const [lastRun] = await runsOf(db, key, 1)
  const nextRunAt = nextAfter(clock.now())?.toISOString() ?? null
  return { jobKey: key, expression, timeZone: 'UTC' as const, description, nextRunAt, lastRun: lastRun ?? null }
}
