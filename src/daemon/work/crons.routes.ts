import { cronsContract } from '../../core/crons/index.ts'
import { type Actor, type Clock, problem, type Random } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import type { Cron } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { runById, runsOf } from './cron-runs.repo.ts'
import { enqueueManualRun } from './due-crons.ts'

/** `crons`: complete before the first request. */
export type CronsDeps = Readonly<{ db: Db; clock: Clock; random: Random; crons: () => readonly Cron[] }>

export const cronsRoutes = (deps: CronsDeps) =>
  serveContract(cronsContract, {
    listCrons: async () => ({ crons: await Promise.all(deps.crons().map((cron) => describe(deps, cron))) }),
    triggerCron: ({ actor, params, signal }) => triggerCron(deps, { actor, cron: cronOf(deps, params.jobKey) }, signal),
    cronHistory: async ({ params, query }) => ({
      runs: await runsOf(deps.db, cronOf(deps, params.jobKey).key, query.limit),
    }),
  })

function cronOf({ crons }: CronsDeps, key: string): Cron {
  const cron = crons().find((one) => one.key === key)
  if (!cron) throw problem('NOT_FOUND', `job ${key} does not exist. fix: \`tenantry crons list\``)
  return cron
}

async function describe({ db, clock }: CronsDeps, { key, expression, description, nextAfter }: Cron) {
  const [lastRun] = await runsOf(db, key, 1)
  const nextRunAt = nextAfter(clock.now())?.toISOString() ?? null
  return { jobKey: key, expression, timeZone: 'UTC' as const, description, nextRunAt, lastRun: lastRun ?? null }
}

/** How long the caller waits; the run itself continues. */
const maxWaitMs = 30_000
const readEveryMs = 250

/** Runs a cron now (spec 4.6). `success` says how it ended, or that it is on its way when it takes longer than the caller waits. Throws CONFLICT. */
async function triggerCron(
  deps: CronsDeps,
  { actor, cron }: Readonly<{ actor: Actor; cron: Cron }>,
  signal: AbortSignal,
): Promise<{ success: boolean; message: string }> {
  const { db, clock } = deps
  const id = await enqueueManualRun(deps, actor, cron)
  for (let waitedMs = 0; waitedMs < maxWaitMs && !signal.aborted; waitedMs += readEveryMs) {
    await clock.sleep(readEveryMs, signal)
    const { status, message } = await runById(db, id)
    if (status !== 'running') return { success: status === 'succeeded', message: message ?? status }
  }
  return { success: true, message: `${cron.key} is running. Result: tenantry crons history ${cron.key}` }
}
