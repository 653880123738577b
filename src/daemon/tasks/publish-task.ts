import type { Clock } from '../../core/kit/index.ts'
import { audienceOf, audienceOfChange, roleKey } from '../../core/tasks/index.ts'
import type { Tx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import type { TaskRecord } from './tasks.repo.ts'

/** Records the event of a new task (without `before`) or of a change, for its readers. `by`: the user, or null for the platform. */
export async function publishTaskEvent(
  tx: Tx,
  clock: Clock,
  { before, after, by }: Readonly<{ before?: TaskRecord; after: TaskRecord; by: string | null }>,
): Promise<void> {
  const { id: taskId, tenantId, spaceId, eventId, runId, assigneeId, status, assignedRole } = after
  const role = assignedRole && roleKey(assignedRole)
  await recordEvent(tx, clock, {
    tenantId,
    type: before === undefined ? 'task.created' : after.escalationLevel > before.escalationLevel ? 'task.escalated' : 'task.updated',
    payload: { taskId, spaceId, eventId, runId, assigneeId, role, status, by },
    audience: before === undefined ? audienceOf(after) : audienceOfChange(before, after),
  })
}
