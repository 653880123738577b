import { type ExpressionBuilder, type Kysely, sql } from 'kysely'
import type { PageEnd } from '../../core/contract/index.ts'
import { isoIn, plural } from '../../core/kit/index.ts'
import { roleKey, type Task, type TaskStatus, unfinished } from '../../core/tasks/index.ts'
import { type Db, type DbOrTx, executeWrites, forUpdate, insertRows, newestFirst, type Tx } from '../db/index.ts'
import type { TasksDeps } from './deps.ts'
import type { TaskTable } from './tasks.tables.ts'

/** A task with the fields that the API does not show. */
export type TaskRecord = Task & Readonly<{ tenantId: string; createdBy: string | null }>

const toTask = (row: TaskTable): TaskRecord => ({
  id: row.id,
  tenantId: row.tenant_id,
  externalId: row.external_id,
  eventId: row.event_id,
  spaceId: row.space_id,
  runId: row.run_id,
  title: row.title,
  status: row.status,
  assignedRole: row.assigned_role,
  assigneeId: row.assignee_id,
  dueAt: row.due_at,
  escalationLevel: Number(row.escalation_level),
  escalatedAt: row.escalated_at,
  createdBy: row.created_by,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

const toRow = (task: TaskRecord): TaskTable => ({
  id: task.id,
  tenant_id: task.tenantId,
  external_id: task.externalId,
  event_id: task.eventId,
  space_id: task.spaceId,
  run_id: task.runId,
  title: task.title,
  status: task.status,
  assigned_role: task.assignedRole,
  role_key: task.assignedRole && roleKey(task.assignedRole),
  assignee_id: task.assigneeId,
  due_at: task.dueAt,
  escalation_level: task.escalationLevel,
  escalated_at: task.escalatedAt,
  created_by: task.createdBy,
  created_at: task.createdAt,
  updated_at: task.updatedAt,
})

type One = Readonly<{ tenantId: string; id: string }>

export async function findTask(db: DbOrTx, { tenantId, id }: One): Promise<TaskRecord | undefined> {
  const row = await db.selectFrom('tasks').selectAll().where('tenant_id', '=', tenantId).where('id', '=', id).executeTakeFirst()
  return row && toTask(row)
}

export type TaskOwner = Pick<Task, 'assignedRole' | 'assigneeId'>

/** Role and assignee of each of these tasks, by task id. */
export async function ownersOfTasks(
  db: DbOrTx,
  { tenantId, ids }: Readonly<{ tenantId: string; ids: readonly string[] }>,
): Promise<ReadonlyMap<string, TaskOwner>> {
  if (ids.length === 0) return new Map()
  const query = db
    .selectFrom('tasks')
    .select(['id', 'assigned_role', 'assignee_id'])
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', [...ids])
  return new Map((await query.execute()).map((row) => [row.id, { assignedRole: row.assigned_role, assigneeId: row.assignee_id }]))
}

/** The task, locked until the transaction ends. */
export async function lockTask(tx: Tx, { tenantId, id }: One): Promise<TaskRecord | undefined> {
  const query = tx.selectFrom('tasks').selectAll().where('tenant_id', '=', tenantId).where('id', '=', id)
  const row = await query.modifyEnd(forUpdate(tx)).executeTakeFirst()
  return row && toTask(row)
}

/** These tasks, locked until the transaction ends; always in the same order, so that two callers cannot deadlock. */
export async function lockTasks(
  tx: Tx,
  { tenantId, ids }: Readonly<{ tenantId: string; ids: readonly string[] }>,
): Promise<readonly TaskRecord[]> {
  const query = tx
    .selectFrom('tasks')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', [...ids])
  return (await query.orderBy('id').modifyEnd(forUpdate(tx)).execute()).map(toTask)
}

/** Stores the status that all of these tasks have now. The caller has locked them. */
export async function replaceStatus(tx: Tx, tasks: readonly TaskRecord[]): Promise<void> {
  const [first] = tasks
  if (!first) return
  await tx
    .updateTable('tasks')
    .set({ status: first.status, updated_at: first.updatedAt })
    .where('tenant_id', '=', first.tenantId)
    .where(
      'id',
      'in',
      tasks.map(({ id }) => id),
    )
    .execute()
}

/** Stores that all of these tasks have the next level now, and belong to the role, if any. The caller has locked them. */
export async function replaceEscalated(tx: Tx, tasks: readonly TaskRecord[], assignedRole: string | undefined): Promise<void> {
  const [first] = tasks
  if (!first) return
  const { status, escalatedAt, updatedAt } = first
  const role = assignedRole === undefined ? {} : { status, assigned_role: assignedRole, role_key: roleKey(assignedRole), assignee_id: null }
  await tx
    .updateTable('tasks')
    .set({ ...role, escalation_level: sql`escalation_level + 1`, escalated_at: escalatedAt, updated_at: updatedAt })
    .where('tenant_id', '=', first.tenantId)
    .where(
      'id',
      'in',
      tasks.map(({ id }) => id),
    )
    .execute()
}

/** Returns false if the tenant has a task of that external id and event. Concurrent calls wait for each other. */
export async function insertTask(tx: Tx, task: TaskRecord): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('tasks')
    .values(toRow(task))
    .onConflict((c) => c.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** SQLite binds at most 32,766 values. */
const rowsAtOnce = 1_000

/** Tasks without an external id. */
export async function insertTasks(tx: Tx, tasks: readonly TaskRecord[]): Promise<void> {
  for (let from = 0; from < tasks.length; from += rowsAtOnce)
    await executeWrites(tx, [insertRows('tasks', tasks.slice(from, from + rowsAtOnce).map(toRow))])
}

type Outer = Readonly<{ tenantId: string; eventId: string | null; externalId: string }>

export async function taskByExternalId(db: DbOrTx, { tenantId, eventId, externalId }: Outer): Promise<TaskRecord | undefined> {
  const row = await db
    .selectFrom('tasks')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(sql`coalesce(event_id, '')`, '=', eventId ?? '') // as the index has it
    .where('external_id', '=', externalId)
    .executeTakeFirst()
  return row && toTask(row)
}

type OfEvent = Readonly<{ tenantId: string; eventId: string; unfinishedOnly: boolean; after?: PageEnd | undefined; limit: number }>

/** Tasks of an event, newest first. */
export async function tasksOfEvent(db: DbOrTx, { tenantId, eventId, unfinishedOnly, after, limit }: OfEvent): Promise<TaskRecord[]> {
  let query = db.selectFrom('tasks').selectAll().where('tenant_id', '=', tenantId).where(sql`coalesce(event_id, '')`, '=', eventId) // as the index has it
  if (unfinishedOnly) query = query.where('status', 'in', [...unfinished])
  return (await newestFirst(query, { after, limit }).execute()).map(toTask)
}

/** Number of all tasks of an event, and of its unfinished ones. */
export async function countTasksOfEvent(
  db: DbOrTx,
  { tenantId, eventId }: Pick<OfEvent, 'tenantId' | 'eventId'>,
): Promise<Readonly<{ all: number; unfinished: number }>> {
  const counted = db.selectFrom('tasks').select(({ fn, eb }) => [
    fn.countAll().as('all'),
    fn
      .count(
        eb
          .case()
          .when('status', 'in', [...unfinished])
          .then(1)
          .end(),
      )
      .as('unfinished'),
  ])
  const ofEvent = counted.where('tenant_id', '=', tenantId).where(sql`coalesce(event_id, '')`, '=', eventId)
  const row = await ofEvent.executeTakeFirstOrThrow()
  return { all: Number(row.all), unfinished: Number(row.unfinished) }
}

/** Returns false if the status changed since the task was read. */
export async function replaceTask(tx: Tx, before: TaskRecord, after: TaskRecord): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('tasks')
    .set(toRow(after))
    .where('tenant_id', '=', before.tenantId)
    .where('id', '=', before.id)
    .where('status', '=', before.status)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Replaces the titles of the tasks of a run by one text. */
export async function replaceTitlesOfRun(
  tx: Tx,
  { tenantId, runId, title }: Readonly<{ tenantId: string; runId: string; title: string }>,
): Promise<void> {
  await tx.updateTable('tasks').set({ title }).where('tenant_id', '=', tenantId).where('run_id', '=', runId).execute()
}

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

type Wanted = Readonly<{
  status?: TaskStatus | 'unfinished' | undefined
  assigneeId?: string | undefined
  eventId?: string | undefined
  spaceId?: string | undefined
  runId?: string | undefined
  after?: PageEnd | undefined
  limit: number
}>

/** Tasks that the reader may read, newest first. */
export async function tasksFor(db: DbOrTx, reader: TaskReader, input: Wanted): Promise<TaskRecord[]> {
  const { status, assigneeId, eventId, spaceId, runId, after, limit } = input
  const ofReader = db.selectFrom('tasks').selectAll().where('tenant_id', '=', reader.tenantId).where(readable(reader))
  let query = newestFirst(ofReader, { after, limit })
  if (status) query = query.where('status', 'in', status === 'unfinished' ? [...unfinished] : [status])
  if (assigneeId) query = query.where('assignee_id', '=', assigneeId)
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
    .where(({ eb, or, and }) =>
      or([
        eb('assignee_id', '=', userId),
        ...(roles.length > 0 ? [and([eb('assignee_id', 'is', null), eb('role_key', 'in', [...roles])])] : []),
      ]),
    )
    .orderBy(sql`coalesce(due_at, '9999')`)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toTask)
}

const atOnce = 1000
const keepMs = 365 * 24 * 60 * 60_000

/** Deletes tasks a year after they were done or cancelled. No bootstrap document shows them by then, so there is no event. */
export async function deleteOldTasks({ db, clock }: Pick<TasksDeps, 'db' | 'clock'>, signal?: AbortSignal): Promise<string> {
  const until = isoIn(clock, -keepMs)
  let gone = 0
  for (let last = atOnce; last === atOnce && !signal?.aborted; gone += last) {
    const old = db
      .selectFrom('tasks')
      .select('id')
      .where('status', 'in', ['done', 'cancelled'])
      .where('updated_at', '<=', until)
      .limit(atOnce)
    const { numDeletedRows } = await db.deleteFrom('tasks').where('id', 'in', old).executeTakeFirst()
    last = Number(numDeletedRows)
  }
  return plural(gone, 'old task')
}
