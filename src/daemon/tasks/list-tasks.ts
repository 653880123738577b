import { pageEnd, readPageEnd } from '../../core/contract/index.ts'
import type { PlatformPrincipal } from '../../core/kit/index.ts'
import type { Task, TaskStatus } from '../../core/tasks/index.ts'
import type { TasksDeps } from './deps.ts'
import { taskView } from './read-task.ts'
import { tasksFor } from './tasks.repo.ts'

type Wanted = Readonly<{
  status?: TaskStatus | undefined
  assignee?: string | undefined
  eventId?: string | undefined
  spaceId?: string | undefined
  runId?: string | undefined
  cursor?: string | undefined
  limit: number
}>

/** A page of the tasks that the caller may read, the newest first. Throws VALIDATION for a cursor that no page returned. */
export async function listTasks(
  { db, spacesOf }: Pick<TasksDeps, 'db' | 'spacesOf'>,
  actor: PlatformPrincipal,
  { cursor, limit, assignee, ...filters }: Wanted,
): Promise<{ tasks: Task[]; nextCursor: string | null }> {
  const { tenantId, userId, roles, capabilities } = actor
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const spaceIds = (await spacesOf(db, actor)).map(({ id }) => id)
  const reader = { tenantId, userId, roles, spaceIds, manages: capabilities.includes('manageBoards') }
  const assigneeId = assignee === 'me' ? userId : assignee
  const found = await tasksFor(db, reader, { ...filters, assigneeId, after, limit: limit + 1 })
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return { tasks: page.map(taskView), nextCursor: found.length > limit && last ? pageEnd(last) : null }
}
