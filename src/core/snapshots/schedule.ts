import { z } from 'zod'

/** What jobs ask for, the most urgent first: a snapshot that is missing costs most. */
export const SnapshotTask = z.enum(['daily', 'prune', 'check', 'check-data', 'drill'])
export type SnapshotTask = z.infer<typeof SnapshotTask>

/** Something to be done for a tenant, and its box as it is now. */
export type WaitingTask = Readonly<{
  tenantId: string
  task: SnapshotTask
  askedAt: string
  hostId: string
  /** The host answers, nobody holds the box, and no other command waits for it or runs on it. */
  free: boolean
}>

/**
 * Whose turn it is: on each host one thing at a time, and nothing on a host that is busy with another. A box that is not free lets others go
 * first and keeps its turn: snapshots by schedule give way to whatever people and rollouts do.
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

/** A box that could be drilled: when its data was last proven to come back, and when that was last tried. */
export type DrillCandidate = Readonly<{ boxId: string; lastProvenAt: string | null; lastTriedAt: string | null }>

const dayMs = 24 * 60 * 60_000

type DrillRule = Readonly<{
  /** A box proven more recently than this is not drilled. */
  dueAfterDays: number
  /** A box that failed its drill waits this long: it may not keep the others from theirs. */
  retryAfterDays: number
  /** Runs of the job within `dueAfterDays`. */
  runs: number
}>

/** Four weeks, less one in which those that failed have their second turn. Six runs a day. */
const drillRule: DrillRule = { dueAfterDays: 21, retryAfterDays: 3, runs: 21 * 6 }

/** Whose turn it is: those longest without proof first, as many as bring the whole fleet through in time. */
export function dueDrills(candidates: readonly DrillCandidate[], now: string, rule: DrillRule = drillRule): string[] {
  const before = (days: number) => new Date(Date.parse(now) - days * dayMs).toISOString()
  const [dueBefore, triedBefore] = [before(rule.dueAfterDays), before(rule.retryAfterDays)]
  return candidates
    .filter(({ lastProvenAt, lastTriedAt }) => (lastProvenAt ?? '') <= dueBefore && (lastTriedAt ?? '') <= triedBefore)
    .sort((a, b) => compareTexts(a.lastProvenAt ?? '', b.lastProvenAt ?? '') || compareTexts(a.boxId, b.boxId))
    .slice(0, Math.ceil(candidates.length / rule.runs))
    .map(({ boxId }) => boxId)
}
