import type { SnapshotTier } from '../boxes/index.ts'
import { elapsedMs } from '../kit/index.ts'
import type { SnapshotStatus } from './contract.ts'

/** Retention by tier: number of daily, weekly and monthly snapshots, days for the others. */
export type RetentionRule = Readonly<{
  daily: number
  weekly: number
  monthly: number
  preUpdateDays: number
  preRestoreDays: number
  manualDays: number
  finalDays: number
}>

/** One snapshot of one box, for retention. */
export type RetainedSnapshot = Readonly<{
  snapshotId: string
  tier: SnapshotTier
  takenAt: string
  status: SnapshotStatus
  /** Its last successful drill or restore. */
  provenAt: string | null
  /** Registered by its command; otherwise only by a listing. */
  reported: boolean
}>

/** The snapshots to delete, and the reason for each retained one; only present and damaged ones are in it. */
export type RetentionVerdict = Readonly<{ forget: readonly string[]; kept: ReadonlyMap<string, string> }>

type Input = Readonly<{
  snapshots: readonly RetainedSnapshot[]
  rule: RetentionRule
  /** ISO. */
  now: string
  /** Referenced snapshots and the reference; retained whatever the rule is. */
  inUse: ReadonlyMap<string, string>
  /** Reports of this time are lost with the database; ISO. Snapshots of it count as reported. */
  unrecorded?: Readonly<{ from: string; until: string }> | undefined
}>

/**
 * Applies retention to the snapshots of ONE box (SAFETY, Snapshots). Referenced snapshots, the newest one, the last verified one and damaged ones are always
 * retained. Snapshots that no command reported may be incomplete: they use no slot and expire after a week. The function is idempotent.
 */
export function evaluateRetention({ snapshots, rule, now, inUse, unrecorded }: Input): RetentionVerdict {
  const present = presentAmong(snapshots)
  const kept = new Map<string, string>()
  const keep = (snapshot: RetainedSnapshot | undefined, why: string | undefined) => {
    if (snapshot && why && !kept.has(snapshot.snapshotId)) kept.set(snapshot.snapshotId, why)
  }
  for (const snapshot of snapshots) {
    const user = inUse.get(snapshot.snapshotId)
    if (user !== undefined && isStored(snapshot)) keep(snapshot, `used by ${user}`)
    if (snapshot.status === 'damaged') keep(snapshot, 'damaged: operator decides')
  }
  const unclaimed = unclaimedAmong(snapshots, unrecorded)
  const claimed = completeSnapshots({ snapshots, unrecorded })
  keep(present[0], 'newest snapshot of the box')
  keep(claimed[0], 'newest complete snapshot')
  keep([...present].sort(lastProvenFirst).find(isProven), 'last verified snapshot')
  keep(
    claimed.find(({ tier }) => tier === 'pre-update'),
    'newest pre-update snapshot',
  )
  for (const [snapshot, why] of thinned(claimed, rule)) keep(snapshot, why)
  for (const snapshot of claimed) keep(snapshot, young(snapshot, rule, now))
  for (const snapshot of present) keep(snapshot, unclaimed(snapshot) ? recent(snapshot, now) : undefined)
  return { forget: present.flatMap(({ snapshotId }) => (kept.has(snapshotId) ? [] : [snapshotId])), kept }
}

/** The snapshots of one box that can be restored as far as anything is known, newest first. */
export function completeSnapshots({ snapshots, unrecorded }: Pick<Input, 'snapshots' | 'unrecorded'>): RetainedSnapshot[] {
  const unclaimed = unclaimedAmong(snapshots, unrecorded)
  return presentAmong(snapshots).filter((snapshot) => !unclaimed(snapshot))
}

const presentAmong = (snapshots: readonly RetainedSnapshot[]): RetainedSnapshot[] =>
  snapshots.filter(({ status }) => status === 'present').sort(newestFirst)

/**
 * Snapshots that a killed command may have left. After a lost registry all come from listings: before the first reported one, none counts as left over.
 * A verified snapshot is complete.
 */
function unclaimedAmong(snapshots: readonly RetainedSnapshot[], unrecorded: Input['unrecorded']): (snapshot: RetainedSnapshot) => boolean {
  const reportedAt = snapshots.filter(({ reported }) => reported).map(({ takenAt }) => takenAt)
  const first = reportedAt.reduce<string | undefined>((least, at) => (least === undefined || at < least ? at : least), undefined)
  const isUnrecorded = (at: string) => unrecorded !== undefined && unrecorded.from <= at && at <= unrecorded.until
  return ({ reported, provenAt, takenAt }) =>
    !reported && provenAt === null && first !== undefined && first < takenAt && !isUnrecorded(takenAt)
}

const isStored = ({ status }: RetainedSnapshot) => status === 'present' || status === 'damaged'
const isProven = ({ provenAt }: RetainedSnapshot) => provenAt !== null

// Ids order snapshots of the same time.
const descending = (a: string, b: string) => (a < b ? 1 : a > b ? -1 : 0)
const newestFirst = (a: RetainedSnapshot, b: RetainedSnapshot) => descending(a.takenAt, b.takenAt) || descending(a.snapshotId, b.snapshotId)
const lastProvenFirst = (a: RetainedSnapshot, b: RetainedSnapshot) => descending(a.provenAt ?? '', b.provenAt ?? '') || newestFirst(a, b)

/** Retention in days; undefined for daily ones, which are thinned out. */
const daysOf = (tier: SnapshotTier, rule: RetentionRule): number | undefined =>
  ({
    daily: undefined,
    'pre-update': rule.preUpdateDays,
    'pre-restore': rule.preRestoreDays,
    manual: rule.manualDays,
    final: rule.finalDays,
    recovered: rule.manualDays,
  })[tier]

const dayMs = 24 * 60 * 60_000

const unclaimedDays = 7

const recent = ({ takenAt }: RetainedSnapshot, now: string): string | undefined =>
  elapsedMs(takenAt, now) < unclaimedDays * dayMs ? `not reported by a command, retained for ${unclaimedDays} days` : undefined

function young(snapshot: RetainedSnapshot, rule: RetentionRule, now: string): string | undefined {
  const days = daysOf(snapshot.tier, rule)
  return days !== undefined && elapsedMs(snapshot.takenAt, now) < days * dayMs ? `${snapshot.tier}, retained for ${days} days` : undefined
}

/** Daily snapshots: the newest of each of the last days, weeks and months. Empty periods use no slot. */
function* thinned(present: readonly RetainedSnapshot[], rule: RetentionRule): Generator<[RetainedSnapshot, string]> {
  const daily = present.filter(({ tier }) => tier === 'daily')
  yield* newestOfEach(daily, { slots: rule.daily, name: 'day' }, ({ takenAt }) => takenAt.slice(0, 10))
  yield* newestOfEach(daily, { slots: rule.weekly, name: 'week' }, ({ takenAt }) => String(weekOf(takenAt)))
  yield* newestOfEach(daily, { slots: rule.monthly, name: 'month' }, ({ takenAt }) => takenAt.slice(0, 7))
}

// 1970 began on a Thursday; weeks begin on Mondays.
const weekOf = (iso: string) => Math.floor((Date.parse(iso) / dayMs + 3) / 7)

type Named = 'day' | 'week' | 'month'

function* newestOfEach(
  newestFirst: readonly RetainedSnapshot[],
  { slots, name }: Readonly<{ slots: number; name: Named }>,
  periodOf: (snapshot: RetainedSnapshot) => string,
): Generator<[RetainedSnapshot, string]> {
  const seen = new Set<string>()
  for (const snapshot of newestFirst) {
    const period = periodOf(snapshot)
    if (seen.has(period) || seen.size >= slots) continue
    seen.add(period)
    yield [snapshot, `newest of its ${name}, ${seen.size} of ${slots}`]
  }
}
