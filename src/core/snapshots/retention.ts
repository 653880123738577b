import type { SnapshotTier } from '../boxes/index.ts'
import { elapsedMs } from '../kit/index.ts'
import type { SnapshotStatus } from './contract.ts'

/** How long snapshots are kept, by tier. Daily ones thin out; the others live for days. */
export type RetentionRule = Readonly<{
  daily: number
  weekly: number
  monthly: number
  preUpdateDays: number
  preRestoreDays: number
  manualDays: number
  finalDays: number
}>

/** What retention looks at: one snapshot of one box. */
export type RetainedSnapshot = Readonly<{
  snapshotId: string
  tier: SnapshotTier
  takenAt: string
  status: SnapshotStatus
  /** When a drill or a restore last proved it; null when none did. */
  provenAt: string | null
}>

/** Which snapshots go, and why each other one stays. What is not present is in neither. */
export type RetentionVerdict = Readonly<{ forget: readonly string[]; kept: ReadonlyMap<string, string> }>

type Input = Readonly<{
  snapshots: readonly RetainedSnapshot[]
  rule: RetentionRule
  /** ISO. */
  now: string
  /** Snapshots that somebody still refers to, and who: these stay whatever the rule says. */
  inUse: ReadonlyMap<string, string>
}>

/**
 * The snapshots of ONE box judged (SAFETY, Snapshots). What is referred to, the newest one, the last proven one and damaged ones always stay;
 * the clock has no say in that. Judging what is left again forgets nothing more.
 */
export function judgeRetention({ snapshots, rule, now, inUse }: Input): RetentionVerdict {
  const present = snapshots.filter(({ status }) => status === 'present').sort(newestFirst)
  const kept = new Map<string, string>()
  const keep = (snapshot: RetainedSnapshot | undefined, why: string | undefined) => {
    if (snapshot && why && !kept.has(snapshot.snapshotId)) kept.set(snapshot.snapshotId, why)
  }
  for (const snapshot of snapshots) {
    const user = inUse.get(snapshot.snapshotId)
    if (user !== undefined && isThere(snapshot)) keep(snapshot, `needed by ${user}`)
    if (snapshot.status === 'damaged') keep(snapshot, 'damaged: a person decides')
  }
  keep(present[0], 'the newest of the box')
  keep([...present].sort(lastProvenFirst).find(isProven), 'the last proven one')
  keep(
    present.find(({ tier }) => tier === 'pre-update'),
    'the newest before an update',
  )
  for (const [snapshot, why] of thinned(present, rule)) keep(snapshot, why)
  for (const snapshot of present) keep(snapshot, young(snapshot, rule, now))
  return { forget: present.flatMap(({ snapshotId }) => (kept.has(snapshotId) ? [] : [snapshotId])), kept }
}

const isThere = ({ status }: RetainedSnapshot) => status === 'present' || status === 'damaged'
const isProven = ({ provenAt }: RetainedSnapshot) => provenAt !== null

// Times alone do not order two snapshots of one moment.
const descending = (a: string, b: string) => (a < b ? 1 : a > b ? -1 : 0)
const newestFirst = (a: RetainedSnapshot, b: RetainedSnapshot) => descending(a.takenAt, b.takenAt) || descending(a.snapshotId, b.snapshotId)
const lastProvenFirst = (a: RetainedSnapshot, b: RetainedSnapshot) => descending(a.provenAt ?? '', b.provenAt ?? '') || newestFirst(a, b)

/** Daily ones have no age: they are thinned out. */
const daysOf = (tier: SnapshotTier, rule: RetentionRule): number | undefined =>
  ({
    daily: undefined,
    'pre-update': rule.preUpdateDays,
    'pre-restore': rule.preRestoreDays,
    manual: rule.manualDays,
    final: rule.finalDays,
  })[tier]

const dayMs = 24 * 60 * 60_000

function young(snapshot: RetainedSnapshot, rule: RetentionRule, now: string): string | undefined {
  const days = daysOf(snapshot.tier, rule)
  return days !== undefined && elapsedMs(snapshot.takenAt, now) < days * dayMs ? `${snapshot.tier}, kept for ${days} days` : undefined
}

/** Daily ones: the newest of each of the last days, weeks and months that have any. Periods without one use no place up. */
function* thinned(present: readonly RetainedSnapshot[], rule: RetentionRule): Generator<[RetainedSnapshot, string]> {
  const daily = present.filter(({ tier }) => tier === 'daily')
  yield* newestOfEach(daily, rule.daily, 'day', ({ takenAt }) => takenAt.slice(0, 10))
  yield* newestOfEach(daily, rule.weekly, 'week', ({ takenAt }) => String(weekOf(takenAt)))
  yield* newestOfEach(daily, rule.monthly, 'month', ({ takenAt }) => takenAt.slice(0, 7))
}

// 1970 began on a Thursday; weeks begin on Mondays.
const weekOf = (iso: string) => Math.floor((Date.parse(iso) / dayMs + 3) / 7)

type Named = 'day' | 'week' | 'month'

function* newestOfEach(
  newestFirst: readonly RetainedSnapshot[],
  places: number,
  name: Named,
  periodOf: (snapshot: RetainedSnapshot) => string,
): Generator<[RetainedSnapshot, string]> {
  const seen = new Set<string>()
  for (const snapshot of newestFirst) {
    const period = periodOf(snapshot)
    if (seen.has(period) || seen.size >= places) continue
    seen.add(period)
    yield [snapshot, `newest of its ${name}, ${seen.size} of ${places}`]
  }
}
