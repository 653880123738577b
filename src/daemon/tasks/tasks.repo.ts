import { sql } from 'kysely'
import { roleKey, type Task } from '../../core/tasks/index.ts'
import { type DbOrTx, executeWrites, forUpdate, insertRows, type Tx } from '../db/index.ts'
import type { TaskTable } from './tasks.tables.ts'

/** A task with the fields that the API does not show. */
export type TaskRecord = Task & Readonly<{ tenantId: string; createdBy: string | null }>

export const toTask = (row: TaskTable): TaskRecord => ({
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
