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
  /** Its command told of it; otherwise only a listing did. */
  reported: boolean
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
 * the clock has no say in that. What no command told of, though it did of earlier ones, may be in parts: it takes no other's place and goes after
 * a week. Judging what is left again forgets nothing more.
 */
export function evaluateRetention({ snapshots, rule, now, inUse }: Input): RetentionVerdict {
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
  const unclaimed = unclaimedAmong(snapshots)
  const claimed = present.filter((snapshot) => !unclaimed(snapshot))
  keep(present[0], 'the newest of the box')
  keep(claimed[0], 'the newest that is known to be whole')
  keep([...present].sort(lastProvenFirst).find(isProven), 'the last proven one')
  keep(
    claimed.find(({ tier }) => tier === 'pre-update'),
    'the newest before an update',
  )
  for (const [snapshot, why] of thinned(claimed, rule)) keep(snapshot, why)
  for (const snapshot of claimed) keep(snapshot, young(snapshot, rule, now))
  for (const snapshot of present) keep(snapshot, unclaimed(snapshot) ? recent(snapshot, now) : undefined)
  return { forget: present.flatMap(({ snapshotId }) => (kept.has(snapshotId) ? [] : [snapshotId])), kept }
}

/**
 * Left by a command that was killed, where nobody may delete it. A registry that was lost learns of all by listings: before the first one that a
 * command told of, nothing is known to be left over. What was proven is whole.
 */
function unclaimedAmong(snapshots: readonly RetainedSnapshot[]): (snapshot: RetainedSnapshot) => boolean {
  const told = snapshots.filter(({ reported }) => reported).map(({ takenAt }) => takenAt)
  const first = told.reduce<string | undefined>((least, at) => (least === undefined || at < least ? at : least), undefined)
  return ({ reported, provenAt, takenAt }) => !reported && provenAt === null && first !== undefined && first < takenAt
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

const unclaimedDays = 7

const recent = ({ takenAt }: RetainedSnapshot, now: string): string | undefined =>
  elapsedMs(takenAt, now) < unclaimedDays * dayMs ? `no command told of it, kept for ${unclaimedDays} days` : undefined

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
