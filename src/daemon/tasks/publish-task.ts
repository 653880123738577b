import type { Clock } from '../../core/kit/index.ts'
import { audienceOf, audienceOfChange, newlyAsked, roleKey } from '../../core/tasks/index.ts'
import { insertJobs, type Tx } from '../db/index.ts'
import { recordEvents } from '../events/index.ts'
import { noticeJob } from '../notices/index.ts'
import type { TaskRecord } from './tasks.repo.ts'

/** A new task (without `before`) or a change. `by`: the user, or null for the platform. */
type TaskChange = Readonly<{ before?: TaskRecord; after: TaskRecord; by: string | null }>

/** Records the events of tasks of one tenant for their readers, and a notice for those whom a task newly asks to act. */
export async function publishTaskEvents(tx: Tx, clock: Clock, changes: readonly TaskChange[]): Promise<void> {
  const [first] = changes
  if (!first) return
  const jobs = changes.flatMap(({ before, after, by }) => {
    const asked = newlyAsked(before, after)
    if (!asked || ('userId' in asked && asked.userId === by)) return []
    return [noticeJob({ tenantId: after.tenantId, kind: 'task', at: after.updatedAt, ...asked }, by)]
  })
  const writes = jobs.length === 0 ? [] : [insertJobs(clock, jobs)]
  await recordEvents(tx, clock, { tenantId: first.after.tenantId, events: changes.map(eventOf), writes })
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
