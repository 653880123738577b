import { isoNow, newId, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { Task } from '../../core/tasks/index.ts'
import type { Tx } from '../db/index.ts'
import { findUserById } from '../users/index.ts'
import type { TasksDeps } from './deps.ts'
import { taskView } from './read-task.ts'
import { insertTask, type TaskRecord, taskByExternalId } from './tasks.repo.ts'
import { tellTask } from './tell-task.ts'

type Wanted = Readonly<{
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
 * Makes a task. Throws VALIDATION (an assignee who is not of the tenant, a space that the caller is not in), ALREADY_EXISTS (the external id).
 */
export const createTask = (deps: TasksDeps, actor: PlatformPrincipal, wanted: Wanted): Promise<Task> =>
  deps.db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    if (wanted.spaceId) await refuseSpace(deps, tx, actor, wanted.spaceId)
    if (wanted.assigneeId) await refuseAssignee(tx, tenantId, wanted.assigneeId)
    const [made] = await ensureTasks(deps, tx, [{ ...wanted, tenantId, createdBy: userId }])
    if (!made?.isNew)
      throw problem('ALREADY_EXISTS', `a task ${wanted.externalId} of this event exists: choose another externalId, or leave it out`)
    return taskView(made.task)
  })

type Ensured = Readonly<{ task: TaskRecord; isNew: boolean }>
type Owned = Wanted & Readonly<{ tenantId: string; createdBy: string | null }>

/**
 * The same for rooms that work for the tenant itself (automation, boards), in their transaction: a task of that event and external id stays as it is and
 * comes back, so that a call which broke off can be repeated. Whose ids these are was checked by the caller. All are there before the first is told,
 * in one order whoever asks: two calls for the same tasks wait for each other, never both at once.
 */
export async function ensureTasks(deps: Pick<TasksDeps, 'clock' | 'random'>, tx: Tx, wanted: readonly Owned[]): Promise<Ensured[]> {
  const tasks = wanted.map((one) => newTask(deps, one))
  const found = new Map<TaskRecord, Ensured>()
  for (const task of [...tasks].sort(inOrder)) found.set(task, await insertOrFind(tx, task))
  const ensured = tasks.map((task) => found.get(task) as Ensured)
  for (const { task, isNew } of ensured) if (isNew) await tellTask(tx, deps.clock, { after: task, by: task.createdBy })
  return ensured
}

const orderOf = ({ eventId, externalId }: TaskRecord): string => JSON.stringify([eventId, externalId])
const inOrder = (a: TaskRecord, b: TaskRecord): number => (orderOf(a) < orderOf(b) ? -1 : Number(orderOf(a) > orderOf(b)))

async function insertOrFind(tx: Tx, task: TaskRecord): Promise<Ensured> {
  if (await insertTask(tx, task)) return { task, isNew: true }
  const { tenantId, eventId, externalId } = task
  const found = await taskByExternalId(tx, { tenantId, eventId, externalId: externalId as string })
  if (!found) throw new Error(`the task ${externalId} was there and is gone`)
  return { task: found, isNew: false }
}

function newTask({ clock, random }: Pick<TasksDeps, 'clock' | 'random'>, wanted: Owned): TaskRecord {
  const { tenantId, createdBy, title, externalId = null, eventId = null } = wanted
  const at = isoNow(clock)
  return {
    ...{ id: newId(random, 'tsk'), tenantId, createdBy, title, externalId, eventId, status: 'open' },
    ...{ spaceId: wanted.spaceId ?? null, runId: wanted.runId ?? null },
    ...{ assignedRole: wanted.assignedRole ?? null, assigneeId: wanted.assigneeId ?? null, dueAt: inUtc(wanted.dueAt ?? null) },
    ...{ escalationLevel: 0, escalatedAt: null, createdAt: at, updatedAt: at },
  }
}

/** One spelling for each time: they are compared as text. */
export const inUtc = (time: string | null): string | null => time && new Date(time).toISOString()

async function refuseSpace({ spacesOf }: TasksDeps, tx: Tx, actor: PlatformPrincipal, spaceId: string): Promise<void> {
  const spaces = await spacesOf(tx, actor)
  if (!spaces.some(({ id }) => id === spaceId)) throw wrong('spaceId', 'must be a space that you are a member of')
}

/** Throws VALIDATION for one who is not of the tenant, or is disabled: a task would wait for them in vain. */
export async function refuseAssignee(tx: Tx, tenantId: string, assigneeId: string): Promise<void> {
  const user = await findUserById(tx, assigneeId)
  if (user?.tenantId !== tenantId || user.status !== 'active') throw wrong('assigneeId', 'must be the id of an active user of your tenant')
}

const wrong = (path: string, reason: string) => problem('VALIDATION', `${path}: ${reason}`, { details: [{ path, reason }] })
