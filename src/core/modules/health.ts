import type { ViolationKind } from './limits.ts'

/** Upper ends of the durations that are counted, in milliseconds; the last bucket has no end. */
const bounds = [5, 10, 25, 50, 100, 250, 500, 1000, 2500] as const
const lastBucket = 'ms_over'
const errorBucket = 'error'
const violationPrefix = 'violation_'

type CountedRun = Readonly<{ status: string; ms: number; violations: readonly Readonly<{ kind: ViolationKind }>[] }>

/** The counters that a run raises: one of its duration, `error` unless it is done, and one for each violation. */
export const healthBuckets = ({ status, ms, violations }: CountedRun): readonly string[] => {
  const bound = bounds.find((one) => ms <= one)
  return [
    bound === undefined ? lastBucket : `ms_${bound}`,
    ...(status === 'done' ? [] : [errorBucket]),
    ...violations.map(({ kind }) => `${violationPrefix}${kind}`),
  ]
}

/** Counters of the last hour decide the health of a module. */
export const healthWindowMs = 3_600_000

type Performance = Readonly<{
  /** Upper end of the bucket that holds it: 1,000 is under a second; 0 without runs, 5,000 above the last one. */
  p95Ms: number
  p99Ms: number
  /** Failed runs among all, 0 to 1. */
  errorRate: number
  violations: readonly Readonly<{ kind: string; count: number }>[]
  healthy: boolean
}>

/** Steps of the course of health; the window is a multiple of it. */
export const healthStepMs = 300_000

export const runsIn = (counts: ReadonlyMap<string, number>): number =>
  [...counts].reduce((sum, [bucket, count]) => sum + (bucket.startsWith('ms_') ? count : 0), 0)

/** Health from the counts of the last hour (spec 2.7): errors under 5 %, p95 under a second, and no violation. */
export function healthOf(counts: ReadonlyMap<string, number>): Performance {
  const count = (bucket: string) => counts.get(bucket) ?? 0
  const byDuration = [...bounds.map((bound) => [bound, count(`ms_${bound}`)] as const), [5000, count(lastBucket)] as const]
  const runs = byDuration.reduce((sum, [, one]) => sum + one, 0)
  const upTo = (n: number) => byDuration.slice(0, n + 1).reduce((sum, [, one]) => sum + one, 0)
  const percentile = (share: number) => (runs === 0 ? 0 : (byDuration.find((_, n) => upTo(n) >= runs * share)?.[0] ?? 0))
  const violations = [...counts]
    .filter(([bucket]) => bucket.startsWith(violationPrefix))
    .map(([bucket, one]) => ({ kind: bucket.slice(violationPrefix.length), count: one }))
    .sort((a, b) => (a.kind < b.kind ? -1 : 1))
  const errorRate = count(errorBucket) / Math.max(1, runs)
  const [p95Ms, p99Ms] = [percentile(0.95), percentile(0.99)]
  return { healthy: errorRate < 0.05 && p95Ms <= 1000 && violations.length === 0, p95Ms, p99Ms, errorRate, violations }
}
