import { z } from 'zod'

/** What jobs ask for, the most urgent first: a snapshot that is missing costs most. */
export const SnapshotTask = z.enum(['daily', 'prune', 'check', 'check-data', 'drill'])
export type SnapshotTask = z.infer<typeof SnapshotTask>

/** Something to be done for a tenant, and its box as it is now. */
export type WaitingTurn = Readonly<{
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
export function nextTurns(waiting: readonly WaitingTurn[], busyHosts: ReadonlySet<string>): WaitingTurn[] {
  const taken = new Set(busyHosts)
  return [...waiting].sort(inOrder).filter(({ hostId, free }) => {
    if (!free || taken.has(hostId)) return false
    taken.add(hostId)
    return true
  })
}

const urgency = ({ task }: WaitingTurn) => SnapshotTask.options.indexOf(task)
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const inOrder = (a: WaitingTurn, b: WaitingTurn) =>
  urgency(a) - urgency(b) || compare(a.askedAt, b.askedAt) || compare(a.tenantId, b.tenantId)
