import { isoNow, newId, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { Task } from '../../core/tasks/index.ts'
import type { Tx, WithTx } from '../db/index.ts'
import type { TasksDeps } from './deps.ts'
import { taskByExternalId } from './event-tasks.repo.ts'
import { publishTaskEvents } from './publish-task.ts'
import { taskView } from './read-tasks.ts'
import { assertAssignee, existingRole, inUtc, invalidField } from './task-input.ts'
import { insertTask, insertTasks, type TaskRecord } from './tasks.repo.ts'

type TaskInput = Readonly<{
  title: string
  externalId?: string | null | undefined
  eventId?: string | null | undefined
  spaceId?: string | null | undefined
  runId?: string | null | undefined
  assignedRole?: string | null | undefined
  assigneeId?: string | null | undefined
  dueAt?: string | null | undefined
}>

/**
 * Creates a task. Throws VALIDATION (a role that does not exist, an assignee who is not of the tenant, a space that the caller is not in),
 * ALREADY_EXISTS (the external id).
 */
export const createTask = (deps: TasksDeps, actor: PlatformPrincipal, input: TaskInput): Promise<Task> =>
  deps.db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    const assignedRole = input.assignedRole ? existingRole(deps.roles, input.assignedRole) : null
    if (input.spaceId) await assertSpaceMember({ ...deps, tx }, actor, input.spaceId)
    if (input.assigneeId) await assertAssignee(tx, tenantId, input.assigneeId)
    const [made] = await ensureTasks(deps, tx, [{ ...input, assignedRole, tenantId, createdBy: userId }])
    if (!made?.isNew)
      throw problem(
        'ALREADY_EXISTS',
        `task ${input.externalId} of this event already exists. fix: choose another externalId, or leave it out`,
      )
    return taskView(made.task)
  })

type Ensured = Readonly<{ task: TaskRecord; isNew: boolean }>
type OwnedInput = TaskInput & Readonly<{ tenantId: string; createdBy: string | null }>

/**
 * The same for other features (automation, boards), in their transaction. An existing task of that event and external id is returned unchanged, so a call
 * may be repeated. The caller has checked the ids; all tasks are of one tenant. Rows are inserted in one fixed order before the first event, so that
 * concurrent calls cannot deadlock. Tasks without an external id are inserted together.
 */
export async function ensureTasks(deps: Pick<TasksDeps, 'clock' | 'random'>, tx: Tx, inputs: readonly OwnedInput[]): Promise<Ensured[]> {
  const tasks = inputs.map((one) => newTask(deps, one))
  const found = new Map<TaskRecord, Ensured>()
  for (const task of tasks.filter(({ externalId }) => externalId !== null).sort(inOrder)) found.set(task, await insertOrFind(tx, task))
  const others = tasks.filter(({ externalId }) => externalId === null)
  await insertTasks(tx, others)
  for (const task of others) found.set(task, { task, isNew: true })
  const ensured = tasks.map((task) => found.get(task) as Ensured)
  const made = ensured.filter(({ isNew }) => isNew)
  await publishTaskEvents(
    tx,
    deps.clock,
    made.map(({ task }) => ({ after: task, by: task.createdBy })),
  )
  return ensured
}

const orderOf = ({ eventId, externalId }: TaskRecord): string => JSON.stringify([eventId, externalId])
const inOrder = (a: TaskRecord, b: TaskRecord): number => (orderOf(a) < orderOf(b) ? -1 : Number(orderOf(a) > orderOf(b)))

async function insertOrFind(tx: Tx, task: TaskRecord): Promise<Ensured> {
  if (await insertTask(tx, task)) return { task, isNew: true }
  const { tenantId, eventId, externalId } = task
  const found = await taskByExternalId(tx, { tenantId, eventId, externalId: externalId as string })
  if (!found) throw new Error(`the task ${externalId} was deleted meanwhile`)
  return { task: found, isNew: false }
}

function newTask({ clock, random }: Pick<TasksDeps, 'clock' | 'random'>, input: OwnedInput): TaskRecord {
  const { tenantId, createdBy, title, externalId = null, eventId = null } = input
  const at = isoNow(clock)
  return {
    ...{ id: newId(random, 'tsk'), tenantId, createdBy, title, externalId, eventId, status: 'open' },
    ...{ spaceId: input.spaceId ?? null, runId: input.runId ?? null },
    ...{ assignedRole: input.assignedRole ?? null, assigneeId: input.assigneeId ?? null, dueAt: inUtc(input.dueAt ?? null) },
    ...{ escalationLevel: 0, escalatedAt: null, createdAt: at, updatedAt: at },
  }
}

async function assertSpaceMember({ spacesOf, tx }: WithTx<TasksDeps>, actor: PlatformPrincipal, spaceId: string): Promise<void> {
  const spaces = await spacesOf(tx, actor)
  if (!spaces.some(({ id }) => id === spaceId)) throw invalidField('spaceId', 'must be a space that you are a member of')
}
