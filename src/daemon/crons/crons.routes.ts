import { cronsContract } from '../../core/crons/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { Cron } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import type { ExecuteDeps } from './execute-run.ts'
import { runsOf } from './runs.repo.ts'
import { triggerJob } from './trigger-job.ts'

/** `draining` aborts when the daemon stops: a run that was triggered by hand then ends as others do. */
export type CronsDeps = ExecuteDeps & Readonly<{ jobs: readonly Cron[]; draining: AbortSignal }>

export const cronsRoutes = (deps: CronsDeps) =>
  serveContract(cronsContract, {
    listCrons: async () => ({ crons: await Promise.all(deps.jobs.map((job) => describe(deps, job))) }),
    triggerCron: async ({ actor, params }) => triggerJob(deps, { actor, job: jobOf(deps, params.jobKey) }, deps.draining),
    cronHistory: async ({ params, query }) => ({
      runs: await runsOf(deps.db, jobOf(deps, params.jobKey).key, query.limit),
    }),
  })

function jobOf({ jobs }: CronsDeps, key: string): Cron {
  const job = jobs.find((one) => one.key === key)
  if (!job) throw problem('NOT_FOUND', `job ${key} does not exist. fix: \`tenantry crons list\``)
  return job
}

async function describe({ db, clock }: CronsDeps, { key, expression, description, nextAfter }: Cron) {
  const [lastRun] = await runsOf(db, key, 1)
  const nextRunAt = nextAfter(clock.now())?.toISOString() ?? null
  return { jobKey: key, expression, timeZone: 'UTC' as const, description, nextRunAt, lastRun: lastRun ?? null }
}
