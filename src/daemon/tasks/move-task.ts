import { isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { mayMove, type Task, type TaskMove, transition } from '../../core/tasks/index.ts'
import { inBatches, type Tx, type WithTx } from '../db/index.ts'
import type { TasksDeps } from './deps.ts'
import { publishTaskEvents } from './publish-task.ts'
import { readTaskForUpdate, taskView } from './read-tasks.ts'
import { assertAssignee, existingRole, inUtc } from './task-input.ts'
import { findTask, lockTask, lockTasks, replaceEscalated, replaceStatus, replaceTask, type TaskRecord } from './tasks.repo.ts'

type Deps = Omit<TasksDeps, 'random' | 'roles'>
type One = Readonly<{ id: string }>

/**
 * Applies a change that the status of the task allows and the caller may make (`mayMove`). Throws NOT_FOUND, FORBIDDEN,
 * INVALID_TRANSITION, VALIDATION (an assignee who is not of the tenant).
 */
const move = (deps: Deps, actor: PlatformPrincipal, { id, change }: One & Readonly<{ change: TaskMove }>): Promise<Task> =>
  deps.db.transaction().execute(async (tx) => {
    const task = await readTaskForUpdate({ ...deps, tx }, actor, { id })
    if (!mayMove(task, actor, change)) throw problem('FORBIDDEN', refusals[change.type])
    assertNotOfRun(task, change)
    const moved = transition(task, change)
    if (moved !== task && change.type === 'assign' && change.assigneeId !== null)
      await assertAssignee(tx, actor.tenantId, change.assigneeId)
    const stored = await store(deps, tx, { before: task, after: moved, by: actor.userId })
    await stepRunOf(deps, tx, { task: stored, change, by: actor.userId })
    return taskView(stored)
  })

/** The run waits for its tasks for ever: only the run cancels them, and none without a role goes to no user. */
function assertNotOfRun({ id, runId, assignedRole }: TaskRecord, change: TaskMove): void {
  if (runId === null) return
  if (change.type === 'cancel')
    throw problem('INVALID_TRANSITION', `Task ${id} belongs to run ${runId}, which alone cancels it. fix: cancel the run`)
  if (change.type === 'assign' && change.assigneeId === null && assignedRole === null)
    throw problem('INVALID_TRANSITION', `Task ${id} has no role that could take it back. fix: assign it to another user, or complete it`)
}

type Moved = Readonly<{ task: TaskRecord; change: TaskMove; by: string | null }>

async function stepRunOf({ runTasks }: Pick<Deps, 'runTasks'>, tx: Tx, { task, change, by }: Moved): Promise<void> {
  const { id, tenantId, runId } = task
  if (runId !== null && change.type === 'complete') await runTasks.completed(tx, { id, tenantId, runId }, by)
}

const todo = 'Only the assignee may do this task, or users with its role while it is unassigned.'
const refusals = {
  start: todo,
  complete: todo,
  assign: 'You may take a task of your role or give yours back; assigning it to others needs the capability manageRuns.',
  cancel: 'Only the creator of a task may cancel it, or users with the capability manageRuns.',
  escalate: 'Only the creator or the assignee of a task may escalate it, or users with the capability manageRuns.',
} as const satisfies Record<TaskMove['type'], string>

export const startTask = (deps: Deps, actor: PlatformPrincipal, one: One) =>
  move(deps, actor, { ...one, change: { type: 'start', by: actor.userId } })
export const completeTask = (deps: Deps, actor: PlatformPrincipal, one: One) => move(deps, actor, { ...one, change: { type: 'complete' } })
export const cancelTask = (deps: Deps, actor: PlatformPrincipal, one: One) => move(deps, actor, { ...one, change: { type: 'cancel' } })

export const assignTask = (deps: Deps, actor: PlatformPrincipal, { id, assigneeId }: One & Readonly<{ assigneeId: string | null }>) =>
  move(deps, actor, { id, change: { type: 'assign', assigneeId } })

type Escalation = Readonly<{ level?: number | undefined; assignedRole?: string | undefined }>

/** Also throws VALIDATION for a role that does not exist. */
export async function escalateTask(
  { roles, ...deps }: Deps & Pick<TasksDeps, 'roles'>,
  actor: PlatformPrincipal,
  { id, level, assignedRole: name }: One & Escalation,
): Promise<Task> {
  const assignedRole = name === undefined ? undefined : existingRole(roles, name)
  return move(deps, actor, { id, change: { type: 'escalate', at: isoNow(deps.clock), level, assignedRole } })
}

/**
 * For other features, in their transaction; undefined when the tenant has no such task. Completing the task of a run steps the run. Throws
 * INVALID_TRANSITION.
 */
export async function moveTask(
  deps: WithTx<Pick<Deps, 'clock' | 'runTasks'>>,
  { tenantId, id }: One & Readonly<{ tenantId: string }>,
  change: TaskMove,
): Promise<TaskRecord | undefined> {
  const { tx } = deps
  const found = await findTask(tx, { tenantId, id })
  if (found?.runId) await deps.runTasks.lock(tx, { tenantId, id, runId: found.runId })
  const task = found && (await lockTask(tx, { tenantId, id }))
  if (!task) return undefined
  assertNotOfRun(task, change)
  const stored = await store(deps, tx, { before: task, after: transition(task, change), by: null })
  await stepRunOf(deps, tx, { task: stored, change, by: null })
  return stored
}

type OfTenant = One & Readonly<{ tenantId: string }>
type RunDeps = WithTx<Pick<Deps, 'clock'>>
type Together = Readonly<{ change: TaskMove; replace(tx: Tx, moved: readonly TaskRecord[]): Promise<void> }>

/**
 * Changes the unfinished ones of these tasks of one tenant in three statements, so that the tenant's counter is locked briefly. For runs, who have
 * locked the run; it is not stepped.
 */
async function moveTogether({ tx, clock }: RunDeps, tasks: readonly OfTenant[], { change, replace }: Together): Promise<void> {
  for (const batch of inBatches(tasks)) {
    const tenantId = (batch[0] as OfTenant).tenantId
    const found = await lockTasks(tx, { tenantId, ids: batch.map(({ id }) => id) })
    const moved = found
      .filter(({ status }) => status === 'open' || status === 'in_progress')
      .map((before) => ({ before, after: { ...transition(before, change), updatedAt: isoNow(clock) }, by: null }))
    await replace(
      tx,
      moved.map(({ after }) => after),
    )
    await publishTaskEvents(tx, clock, moved)
  }
}

export const finishTasksOfRun = (deps: RunDeps, tasks: readonly OfTenant[], change: Readonly<{ type: 'complete' | 'cancel' }>) =>
  moveTogether(deps, tasks, { change, replace: replaceStatus })

type Escalated = Readonly<{ at: string; assignedRole: string | undefined }>

/** `assignedRole`: the role that they go to, if any. */
export const escalateTasksOfRun = (deps: RunDeps, tasks: readonly OfTenant[], { at, assignedRole }: Escalated) =>
  moveTogether(deps, tasks, {
    change: { type: 'escalate', at, assignedRole },
    replace: (tx, moved) => replaceEscalated(tx, moved, assignedRole),
  })

type Change = Readonly<{ title?: string | undefined; dueAt?: string | null | undefined }>

/** Changes the given fields. Throws NOT_FOUND, INVALID_TRANSITION (the task is finished, or the due date is that of a run). */
export const changeTask = (deps: Deps, actor: PlatformPrincipal, { id, title, dueAt }: One & Change): Promise<Task> =>
  deps.db.transaction().execute(async (tx) => {
    const task = await readTaskForUpdate({ ...deps, tx }, actor, { id })
    if (task.status === 'done' || task.status === 'cancelled')
      throw problem('INVALID_TRANSITION', `the task is ${task.status} and cannot be changed`)
    const after = { ...task, title: title ?? task.title, dueAt: dueAt === undefined ? task.dueAt : inUtc(dueAt) }
    // The run escalates by its own timers, which a date of the task alone would not move.
    if (task.runId !== null && after.dueAt !== task.dueAt)
      throw problem(
        'INVALID_TRANSITION',
        `Task ${id} belongs to run ${task.runId}, whose board sets its due date. fix: change only the title`,
      )
    const isSame = after.title === task.title && after.dueAt === task.dueAt
    return taskView(await store(deps, tx, { before: task, after: isSame ? task : after, by: actor.userId }))
  })

/** Stores the task and its event in one transaction; an unchanged task gets neither. */
async function store(
  { clock }: Pick<Deps, 'clock'>,
  tx: Tx,
  { before, after, by }: Readonly<{ before: TaskRecord; after: TaskRecord; by: string | null }>,
): Promise<TaskRecord> {
  if (after === before) return before
  const stored = { ...after, updatedAt: isoNow(clock) }
  if (!(await replaceTask(tx, before, stored))) throw problem('CONFLICT', 'the task changed meanwhile. fix: read it again')
  await publishTaskEvents(tx, clock, [{ before, after: stored, by }])
  return stored
}
