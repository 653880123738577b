import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/index.ts'

/** Enough for a rollout of a small fleet, and cheap to read at each scrape. */
const maxUpdates = 100

/** Registers the downtime of the last updates by fence mode, beside what their plans expected. */
export function downtimeMetrics({ db }: Readonly<{ db: Db }>, registry: Registry): void {
  new Gauge({
    name: 'tenantry_update_downtime_seconds',
    help: `Downtime of the last ${maxUpdates} successful updates by fence mode: median, max, and the median that plans expected`,
    labelNames: ['mode', 'value'],
    registers: [registry],
    async collect() {
      this.reset()
      const updates = await lastUpdates(db)
      for (const mode of new Set(updates.map((update) => update.mode))) {
        const ofMode = updates.filter((update) => update.mode === mode)
        const real = ofMode.map(({ fencedMs }) => fencedMs)
        const expected = ofMode.map(({ expectedMs }) => expectedMs)
        const values = { median: median(real), max: Math.max(...real), expected: median(expected) }
        for (const [value, ms] of Object.entries(values)) this.set({ mode, value }, ms / 1000)
      }
    },
  })
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0

async function lastUpdates(db: Db) {
  const rows = await db
    .selectFrom('rollout_actions')
    .select(['fence_mode', 'fenced_ms', 'expected_fence_ms'])
    .where('status', '=', 'succeeded')
    .where('fenced_ms', 'is not', null)
    .orderBy('finished_at', 'desc')
    .limit(maxUpdates)
    .execute()
  return rows.flatMap(({ fence_mode: mode, fenced_ms, expected_fence_ms }) =>
    mode === null ? [] : [{ mode, fencedMs: Number(fenced_ms), expectedMs: Number(expected_fence_ms) }],
  )
}
