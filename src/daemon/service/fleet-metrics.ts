import { Gauge, type Registry } from 'prom-client'
import { type Clock, isoIn } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; registry: Registry; offlineAfterMs: number }>
type Counted = readonly Readonly<{ label: string; count: number | string | bigint }>[]

/**
 * Metrics for an operator's alerts, counted at each scrape: silent hosts, drifting boxes, queued commands.
 * Counts only, and a handful of statements: scraping must not cost what grows with the fleet more than one pass over it.
 */
export function fleetMetrics({ db, clock, registry, offlineAfterMs }: Deps): void {
  const gauge = ({ name, help, label }: Readonly<{ name: string; help: string; label: string }>, count: () => Promise<Counted>) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      async collect() {
        this.reset()
        for (const row of await count()) this.set({ [label]: row.label }, Number(row.count))
      },
    })
  const counted = db.fn.countAll().as('count')

  gauge({ name: 'tenantry_boxes', help: 'Live boxes by drift, as last compared', label: 'severity' }, () =>
    db.selectFrom('boxes').select(['drift_severity as label', counted]).where('live', '=', 1).groupBy('drift_severity').execute(),
  )
  gauge(
    {
      name: 'tenantry_fences',
      help: 'Fenced live boxes, as last reported; overdue: fenced longer than the operation may take',
      label: 'state',
    },
    async () => {
      const live = db.selectFrom('boxes').select(['maintenance_since', 'fence_overdue_at']).where('live', '=', 1)
      const fences = await live.where('fence_since', 'is not', null).execute()
      const stateOf = ({ maintenance_since, fence_overdue_at }: (typeof fences)[number]) =>
        fence_overdue_at !== null ? 'overdue' : maintenance_since !== null ? 'maintenance' : 'in_time'
      return ['in_time', 'maintenance', 'overdue'].map((label) => ({
        label,
        count: fences.filter((fence) => stateOf(fence) === label).length,
      }))
    },
  )
  gauge({ name: 'tenantry_box_moves', help: 'Unfinished moves of boxes between hosts', label: 'state' }, () =>
    db.selectFrom('box_moves').select(['state as label', counted]).where('finished_at', 'is', null).groupBy('state').execute(),
  )
  gauge({ name: 'tenantry_box_removals', help: 'Removed boxes whose data may still be on their hosts', label: 'state' }, () =>
    db.selectFrom('box_removals').select(['state as label', counted]).where('finished_at', 'is', null).groupBy('state').execute(),
  )
  gauge({ name: 'tenantry_commands', help: 'Unfinished commands to agents', label: 'status' }, () =>
    db
      .selectFrom('commands')
      .select(['status as label', counted])
      .where('status', 'in', ['queued', 'leased', 'running'])
      .groupBy('status')
      .execute(),
  )
  gauge({ name: 'tenantry_rollouts', help: 'Rollouts by status', label: 'status' }, () =>
    db.selectFrom('rollouts').select(['status as label', counted]).groupBy('status').execute(),
  )
  gauge({ name: 'tenantry_hosts', help: 'Enrolled hosts by the status of their agents', label: 'state' }, async () => {
    const silentBefore = isoIn(clock, -offlineAfterMs)
    const hosts = await db.selectFrom('hosts').select(['status', 'last_seen_at']).execute()
    const stateOf = ({ status, last_seen_at }: (typeof hosts)[number]) =>
      status === 'active' ? ((last_seen_at ?? '') > silentBefore ? 'online' : 'offline') : status
    return ['online', 'offline', 'frozen', 'revoked'].map((label) => ({
      label,
      count: hosts.filter((host) => stateOf(host) === label).length,
    }))
  })
}
