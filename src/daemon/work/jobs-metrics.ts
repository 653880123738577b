import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { countJobs } from './jobs.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock; registry: Registry }>

/** Registers the number of jobs that are not done, and the age of the oldest. */
export function jobsMetrics({ db, clock, registry }: Deps): void {
  new Gauge({
    name: 'tenantry_jobs',
    help: 'Jobs that are not done, by topic and status (waiting, away: server does not answer, dead: abandoned)',
    labelNames: ['topic', 'status'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { topic, state, count } of await countJobs(db)) this.set({ topic, status: state }, count)
    },
  })
  new Gauge({
    name: 'tenantry_jobs_oldest_seconds',
    help: 'Time since the oldest job that is not dead was due first, in seconds',
    labelNames: ['topic', 'status'],
    registers: [registry],
    async collect() {
      this.reset()
      const now = clock.now().getTime()
      for (const { topic, state, oldestAt } of await countJobs(db))
        if (state !== 'dead') this.set({ topic, status: state }, Math.max(0, now - Date.parse(oldestAt)) / 1000)
    },
  })
}
