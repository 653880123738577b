import { expect, test } from 'vitest'
import { healthBuckets, healthOf } from '../../../src/core/modules/index.ts'

const counted = (runs: readonly Parameters<typeof healthBuckets>[0][]) => {
  const counts = new Map<string, number>()
  for (const bucket of runs.flatMap(healthBuckets)) counts.set(bucket, (counts.get(bucket) ?? 0) + 1)
  return healthOf(counts)
}
const runs = (count: number, ms: number, status = 'done') => Array.from({ length: count }, () => ({ status, ms, violations: [] }))

test.each([
  ['nothing ran', [], { healthy: true, errorRate: 0, p95Ms: 0, p99Ms: 0, violations: [] }],
  ['fast and without errors', runs(100, 3), { healthy: true, errorRate: 0, p95Ms: 5, p99Ms: 5 }],
  ['4 % errors', [...runs(96, 3), ...runs(4, 3, 'failed')], { healthy: true, errorRate: 0.04 }],
  ['5 % errors', [...runs(95, 3), ...runs(5, 3, 'limit')], { healthy: false, errorRate: 0.05 }],
  ['5 % slow', [...runs(95, 3), ...runs(5, 4000)], { healthy: true, p95Ms: 5, p99Ms: 5000 }],
  ['all under a second', runs(100, 900), { healthy: true, p95Ms: 1000 }],
  ['6 % slow', [...runs(94, 3), ...runs(6, 4000)], { healthy: false, p95Ms: 5000 }],
  [
    'a refused call',
    [{ status: 'done', ms: 1, violations: [{ kind: 'permission' as const }] }],
    { healthy: false, errorRate: 0, violations: [{ kind: 'permission', count: 1 }] },
  ],
])('health: %s', (_, given, expected) => {
  expect(counted(given)).toMatchObject(expected)
})
