import { problem } from '../../core/kit/index.ts'
import type { PlatformPrincipal } from '../../core/sessions/index.ts'
import type { Task, TaskStatus } from '../../core/tasks/index.ts'
import type { TasksNeeds } from './needs.ts'
import { taskView } from './read-task.ts'
import { type TaskPlace, tasksFor } from './tasks.repo.ts'

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
  { db, spacesOf }: Pick<TasksNeeds, 'db' | 'spacesOf'>,
  actor: PlatformPrincipal,
  { cursor, limit, assignee, ...filters }: Wanted,
): Promise<{ tasks: Task[]; nextCursor: string | null }> {
  const { tenantId, userId, roles, capabilities } = actor
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const spaceIds = (await spacesOf(db, actor)).map(({ id }) => id)
  const reader = { tenantId, userId, roles, spaceIds, manages: capabilities.includes('manageBoards') }
  const assigneeId = assignee === 'me' ? userId : assignee
  const found = await tasksFor(db, reader, { ...filters, assigneeId, after, limit: limit + 1 })
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return { tasks: page.map(taskView), nextCursor: found.length > limit && last ? `${last.createdAt}~${last.id}` : null }
}

function readCursor(cursor: string): TaskPlace {
  const [, createdAt, id] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)~([a-z0-9_]{1,60})$/.exec(cursor) ?? []
  if (createdAt !== undefined && id !== undefined) return { createdAt, id }
  const reason = 'must be as the page before returned it'
  throw problem('VALIDATION', `cursor: ${reason}`, { details: [{ path: 'cursor', reason }] })
}
