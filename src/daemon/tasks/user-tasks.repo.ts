import { type ExpressionBuilder, type Kysely, sql } from 'kysely'
import type { PageEnd } from '../../core/contract/index.ts'
import { type TaskStatus, unfinished } from '../../core/tasks/index.ts'
import { type Db, type DbOrTx, newestFirst } from '../db/index.ts'
import { type TaskRecord, toTask } from './tasks.repo.ts'
import type { TaskTable } from './tasks.tables.ts'

/** A reader with roles and spaces. */
type TaskReader = Readonly<{
  tenantId: string
  userId: string
  roles: readonly string[]
  spaceIds: readonly string[]
  manages: boolean
}>

type Condition = Db extends Kysely<infer Tables extends { tasks: TaskTable }> ? ExpressionBuilder<Tables, 'tasks'> : never

/** The rule of `audienceOf` in SQL; a property test compares the two. */
const readable =
  ({ userId, roles, spaceIds, manages }: TaskReader) =>
  ({ eb, or }: Condition) =>
    or([
      eb('assignee_id', '=', userId),
      eb('created_by', '=', userId),
      ...(roles.length > 0 ? [eb('role_key', 'in', [...roles])] : []),
      ...(spaceIds.length > 0 ? [eb('space_id', 'in', [...spaceIds])] : []),
      ...(manages ? [eb('space_id', 'is', null)] : []),
    ])

/** The rule of `isAssignedTo` in SQL. */
const assignedTo =
  ({ userId, roles }: Readonly<{ userId: string; roles: readonly string[] }>) =>
  ({ eb, or, and }: Condition) =>
    or([
      eb('assignee_id', '=', userId),
      ...(roles.length > 0 ? [and([eb('assignee_id', 'is', null), eb('role_key', 'in', [...roles])])] : []),
    ])

type Wanted = Readonly<{
  status?: TaskStatus | 'unfinished' | undefined
  /** `me`: assigned to the reader, or to a role of the reader and to no user yet. */
  assignee?: string | undefined
  eventId?: string | undefined
  spaceId?: string | undefined
  runId?: string | undefined
  after?: PageEnd | undefined
  limit: number
}>

/** Tasks that the reader may read, newest first. */
export async function tasksFor(db: DbOrTx, reader: TaskReader, input: Wanted): Promise<TaskRecord[]> {
  const { status, assignee, eventId, spaceId, runId, after, limit } = input
  const ofReader = db.selectFrom('tasks').selectAll().where('tenant_id', '=', reader.tenantId).where(readable(reader))
  let query = newestFirst(ofReader, { after, limit })
  if (status) query = query.where('status', 'in', status === 'unfinished' ? [...unfinished] : [status])
  if (assignee) query = assignee === 'me' ? query.where(assignedTo(reader)) : query.where('assignee_id', '=', assignee)
  if (eventId) query = query.where('event_id', '=', eventId)
  if (spaceId) query = query.where('space_id', '=', spaceId)
  if (runId) query = query.where('run_id', '=', runId)
  return (await query.execute()).map(toTask)
}

/** Ids of the unfinished tasks of a role that are assigned to a user. */
export async function takenTasks(db: DbOrTx, { tenantId, userId }: Readonly<{ tenantId: string; userId: string }>): Promise<string[]> {
  const query = db.selectFrom('tasks').select('id').where('tenant_id', '=', tenantId).where('assignee_id', '=', userId)
  const taken = query.where('status', 'in', [...unfinished]).where('role_key', 'is not', null)
  return (await taken.orderBy('id').execute()).map(({ id }) => id)
}

type Whose = Readonly<{ tenantId: string; userId: string; roles: readonly string[] }>

/** Unfinished tasks assigned to a user (`isAssignedTo`), by due date. */
export async function unfinishedTasksOf(db: DbOrTx, { tenantId, userId, roles }: Whose, limit: number): Promise<TaskRecord[]> {
  const rows = await db
    .selectFrom('tasks')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('status', 'in', [...unfinished])
    .where(assignedTo({ userId, roles }))
    .orderBy(sql`coalesce(due_at, '9999')`)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toTask)
}
