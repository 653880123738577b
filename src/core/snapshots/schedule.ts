import { z } from 'zod'

/** The scheduled tasks, the most urgent first: a missing snapshot costs most. */
export const SnapshotTask = z.enum(['daily', 'thin', 'prune', 'check', 'check-data', 'drill'])
export type SnapshotTask = z.infer<typeof SnapshotTask>

/** A queued task of a tenant, and the current state of its box. */
export type WaitingTask = Readonly<{
  tenantId: string
  task: SnapshotTask
  askedAt: string
  hostId: string
  /** The host is online, the box has no hold, and no other command of it is open. */
  free: boolean
}>

/**
 * The tasks to start now: one per host, none on a busy host. A box that is not free keeps its task queued: scheduled snapshots yield to people and
 * rollouts.
 */
export function nextTasks(waiting: readonly WaitingTask[], busyHosts: ReadonlySet<string>): WaitingTask[] {
  const taken = new Set(busyHosts)
  return [...waiting].sort(inOrder).filter(({ hostId, free }) => {
    if (!free || taken.has(hostId)) return false
    taken.add(hostId)
    return true
  })
}

const urgency = ({ task }: WaitingTask) => SnapshotTask.options.indexOf(task)
const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const inOrder = (a: WaitingTask, b: WaitingTask) =>
  urgency(a) - urgency(b) || compareTexts(a.askedAt, b.askedAt) || compareTexts(a.tenantId, b.tenantId)

/** A box that could be drilled: its last verified restore, and its last drill. */
export type DrillCandidate = Readonly<{ boxId: string; lastProvenAt: string | null; lastTriedAt: string | null }>

const dayMs = 24 * 60 * 60_000

type DrillRule = Readonly<{
  /** A box verified more recently than this is not drilled. */
  dueAfterDays: number
  /** A box that failed its drill waits this long, so that it does not block others. */
  retryAfterDays: number
  /** Number of runs of the job within `dueAfterDays`. */
  runs: number
}>

/** Four weeks, less one week for retries. Six runs a day. */
const drillRule: DrillRule = { dueAfterDays: 21, retryAfterDays: 3, runs: 21 * 6 }

/** The boxes to drill now: those longest without a verified restore first, enough to cover the fleet in time. */
export function dueDrills(candidates: readonly DrillCandidate[], now: string, rule: DrillRule = drillRule): string[] {
  const before = (days: number) => new Date(Date.parse(now) - days * dayMs).toISOString()
  const [dueBefore, triedBefore] = [before(rule.dueAfterDays), before(rule.retryAfterDays)]
  return candidates
    .filter(({ lastProvenAt, lastTriedAt }) => (lastProvenAt ?? '') <= dueBefore && (lastTriedAt ?? '') <= triedBefore)
    .sort((a, b) => compareTexts(a.lastProvenAt ?? '', b.lastProvenAt ?? '') || compareTexts(a.boxId, b.boxId))
    .slice(0, Math.ceil(candidates.length / rule.runs))
    .map(({ boxId }) => boxId)
}
