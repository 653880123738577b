import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import { reaches } from '../../core/events/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { audienceOf, type Task, type TaskStatus } from '../../core/tasks/index.ts'
import type { DbOrTx, WithTx } from '../db/index.ts'
import type { SpacesOf, TasksDeps } from './deps.ts'
import { findTask, lockTask, type TaskRecord } from './tasks.repo.ts'
import { tasksFor } from './user-tasks.repo.ts'

/** A task as the API returns it. */
export const taskView = ({ tenantId: _, createdBy: __, ...task }: TaskRecord): Task => task

type Deps = Readonly<{ spacesOf: SpacesOf }>
type One = Readonly<{ id: string }>

/** The same answer for a missing task and one that the caller may not read. */
const noSuchTask = (id: string) =>
  problem('NOT_FOUND', `Task ${id} does not exist, or you may not read it. fix: list your tasks with GET /api/platform/v1/tasks`)

type Found = Readonly<{ id: string; task: TaskRecord | undefined }>

async function readable(deps: Deps & Readonly<{ db: DbOrTx }>, actor: PlatformPrincipal, { id, task }: Found): Promise<TaskRecord> {
  if (!task) throw noSuchTask(id)
  const spaces = task.spaceId === null ? [] : await deps.spacesOf(deps.db, actor)
  if (!reaches(audienceOf(task), actor, (spaceId) => spaces.some((space) => space.id === spaceId))) throw noSuchTask(id)
  return task
}

/** A task that the caller may read. Throws NOT_FOUND. */
export const readTask = async (deps: Deps & Readonly<{ db: DbOrTx }>, actor: PlatformPrincipal, { id }: One): Promise<TaskRecord> =>
  readable(deps, actor, { id, task: await findTask(deps.db, { tenantId: actor.tenantId, id }) })

/** The same, with the task, and before it the run that it belongs to, locked until the transaction ends. */
export async function readTaskForUpdate(
  deps: WithTx<Deps & Pick<TasksDeps, 'runTasks'>>,
  actor: PlatformPrincipal,
  { id }: One,
): Promise<TaskRecord> {
  const { tx } = deps
  const { tenantId } = actor
  const found = await findTask(tx, { tenantId, id })
  if (found?.runId) await deps.runTasks.lock(tx, { tenantId, id, runId: found.runId })
  return readable({ ...deps, db: tx }, actor, { id, task: await lockTask(tx, { tenantId, id }) })
}

type ListInput = Readonly<{
  status?: TaskStatus | 'unfinished' | undefined
  assignee?: string | undefined
  eventId?: string | undefined
  spaceId?: string | undefined
  runId?: string | undefined
  cursor?: string | undefined
  limit: number
}>

/** A page of the tasks that the caller may read, newest first. Throws VALIDATION for an invalid cursor. */
export async function listTasks(
  { db, spacesOf }: Pick<TasksDeps, 'db' | 'spacesOf'>,
  actor: PlatformPrincipal,
  { cursor, limit, ...filters }: ListInput,
): Promise<{ tasks: Task[]; nextCursor: string | null }> {
  const { tenantId, userId, roles, capabilities } = actor
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const spaceIds = (await spacesOf(db, actor)).map(({ id }) => id)
  const reader = { tenantId, userId, roles, spaceIds, manages: capabilities.includes('manageRuns') }
  const found = await tasksFor(db, reader, { ...filters, after, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, pageEnd)
  return { tasks: page.map(taskView), nextCursor }
}
