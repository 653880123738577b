import type { Clock } from '../../core/kit/index.ts'
import { audienceOf, audienceOfChange, roleKey } from '../../core/tasks/index.ts'
import type { Tx } from '../db/index.ts'
import { recordEvents } from '../events/index.ts'
import type { TaskRecord } from './tasks.repo.ts'

/** A new task (without `before`) or a change. `by`: the user, or null for the platform. */
type TaskChange = Readonly<{ before?: TaskRecord; after: TaskRecord; by: string | null }>

/** Records the events of tasks of one tenant for their readers. */
export async function publishTaskEvents(tx: Tx, clock: Clock, changes: readonly TaskChange[]): Promise<void> {
  const [first] = changes
  if (first) await recordEvents(tx, clock, { tenantId: first.after.tenantId, events: changes.map(eventOf) })
}

function eventOf({ before, after, by }: TaskChange) {
  const { id: taskId, spaceId, eventId, runId, assigneeId, status, assignedRole } = after
  const role = assignedRole && roleKey(assignedRole)
  return {
    type: before === undefined ? 'task.created' : after.escalationLevel > before.escalationLevel ? 'task.escalated' : 'task.updated',
    payload: { taskId, spaceId, eventId, runId, assigneeId, role, status, by },
    audience: before === undefined ? audienceOf(after) : audienceOfChange(before, after),
  } as const
}
