// Crons: when each is due, and what became of its runs. All times are UTC. A due cron enqueues a job, which any replica runs;
// missed, skipped and failed runs are in the history. The feature that declares a cron decides what it does.
import './crons.tables.ts'
import type { Logger } from '../../node/index.ts'
import { feature } from '../feature/index.ts'
import { type CronsDeps, cronsRoutes } from './crons.routes.ts'
import { enqueueDueCrons } from './due-crons.ts'
import { cronHandler, cronTopic } from './run-cron.ts'

export { type CronsDeps, cronsRoutes } from './crons.routes.ts'
export { enqueueDueCrons } from './due-crons.ts'
export { cronFailed, cronFailedKey, cronHandler, cronTopic } from './run-cron.ts'

export const cronsFeature = feature<CronsDeps & Readonly<{ log: Logger }>>({
  name: 'crons',
  routes: cronsRoutes,
  jobs: (deps) => ({ [cronTopic]: cronHandler(deps) }),
  loops: (deps) => [{ name: 'enqueue due crons', everyMs: 1000, run: enqueueDueCrons(deps, deps.crons) }],
})
