import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { countFollowups } from './followups.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock; registry: Registry }>

/** What is not done yet, and for how long: a figure that only rises is work that nobody does. */
export function outboxMetrics({ db, clock, registry }: Deps): void {
  new Gauge({
    name: 'tenantry_outbox',
    help: 'Follow-up work that is not done; away waits for a server that does not answer, dead was given up',
    labelNames: ['topic', 'status'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { topic, state, count } of await countFollowups(db)) this.set({ topic, status: state }, count)
    },
  })
  new Gauge({
    name: 'tenantry_outbox_oldest_seconds',
    help: 'How long the oldest follow-up work has waited that was not given up',
    labelNames: ['topic', 'status'],
    registers: [registry],
    async collect() {
      this.reset()
      const now = clock.now().getTime()
      for (const { topic, state, oldestAt } of await countFollowups(db))
        if (state !== 'dead') this.set({ topic, status: state }, Math.max(0, now - Date.parse(oldestAt)) / 1000)
    },
  })
}
