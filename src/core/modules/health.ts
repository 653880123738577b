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

export type ModuleHealth = Readonly<{
  healthy: boolean
  runs: number
  errors: number
  /** Upper end of the bucket that holds it; null without runs. 5,000: above the last one. */
  p95Ms: number | null
  /** Counts by kind. */
  violations: Readonly<Record<string, number>>
}>

/** Health from the counts of the last hour: errors under 5 %, p95 under a second, and no violation. */
export function healthOf(counts: ReadonlyMap<string, number>): ModuleHealth {
  const count = (bucket: string) => counts.get(bucket) ?? 0
  const byDuration = [...bounds.map((bound) => [bound, count(`ms_${bound}`)] as const), [5000, count(lastBucket)] as const]
  const runs = byDuration.reduce((sum, [, one]) => sum + one, 0)
  const upTo = (n: number) => byDuration.slice(0, n + 1).reduce((sum, [, one]) => sum + one, 0)
  const p95Ms = runs === 0 ? null : (byDuration.find((_, n) => upTo(n) >= runs * 0.95)?.[0] ?? null)
  const violations = Object.fromEntries(
    [...counts]
      .filter(([bucket]) => bucket.startsWith(violationPrefix))
      .map(([bucket, one]) => [bucket.slice(violationPrefix.length), one]),
  )
  const errors = count(errorBucket)
  const isFast = p95Ms === null || p95Ms < 1000
  return { healthy: errors < Math.max(1, runs) * 0.05 && isFast && Object.keys(violations).length === 0, runs, errors, p95Ms, violations }
}
