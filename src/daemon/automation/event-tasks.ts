import type { NewEventTask, Warning } from '../../core/automation/index.ts'
import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import { type AutomationActor, isoNow, problem } from '../../core/kit/index.ts'
import { roleKey, type Task } from '../../core/tasks/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { findSpace } from '../spaces/index.ts'
import { ensureTasks, moveTask, roleNamed, tasksOfEvent, taskView } from '../tasks/index.ts'
import { activeUsersWithRole } from '../users/index.ts'
import type { AutomationDeps } from './deps.ts'
import type { OneCall } from './once.ts'
import { eventRoom } from './rooms.repo.ts'

type Deps = Pick<AutomationDeps, 'db' | 'clock' | 'random' | 'roles' | 'runTasks'>
type OfEvent = Readonly<{ eventId: string }>

/**
 * Creates the tasks of an event that do not exist yet, by their ids. A role that no active user has is accepted with a warning. Throws NOT_FOUND
 * (space).
 */
export async function createEventTasks(
  deps: Omit<Deps, 'runTasks'>,
  { tenantId }: AutomationActor,
  { eventId, tasks }: OfEvent & Readonly<{ tasks: readonly NewEventTask[] }>,
) {
  const ensured = await deps.db.transaction().execute(async (tx) => {
    for (const spaceId of new Set(tasks.flatMap((task) => task.spaceId ?? []))) await assertSpace(tx, tenantId, spaceId)
    const inputs = tasks.map(({ id, assignedRole, ...task }) => {
      const shared = { externalId: id, eventId, tenantId, createdBy: null }
      return { ...task, ...shared, assignedRole: roleNamed(deps.roles, assignedRole) }
    })
    return ensureTasks(deps, tx, inputs)
  })
  const places = tasks.map(({ assignedRole }, at) => [`tasks.${at}.assignedRole`, assignedRole] as const)
  const isKept = ([, role]: (typeof places)[number], at: number) => {
    const { task, isNew } = ensured[at] as (typeof ensured)[number]
    return !isNew && task.assignedRole !== null && roleKey(task.assignedRole) !== roleKey(roleNamed(deps.roles, role))
  }
  const warnings = [
    ...(await roleWarnings(
      deps,
      tenantId,
      places.filter((one, at) => !isKept(one, at)),
    )),
    ...places.flatMap(([path, role], at) =>
      isKept([path, role], at)
        ? [{ path, reason: `the task exists and keeps the role ${ensured[at]?.task.assignedRole}. fix: escalate it to another role` }]
        : [],
    ),
  ]
  return { tasks: ensured.map(({ task }) => taskView(task)), created: ensured.filter(({ isNew }) => isNew).length, warnings }
}

export async function assertSpace(db: DbOrTx, tenantId: string, spaceId: string): Promise<void> {
  if (!(await findSpace(db, { tenantId, spaceId }))) throw problem('NOT_FOUND', `Space ${spaceId} does not exist in this tenant`)
}

/** Names each role without users, at the place where it was sent. */
export async function roleWarnings(
  { db, roles }: Pick<Deps, 'db' | 'roles'>,
  tenantId: string,
  named: readonly (readonly [path: string, role: string])[],
): Promise<Warning[]> {
  const reasons = new Map<string, string | undefined>()
  for (const role of new Set(named.map(([, name]) => name))) {
    const key = roleKey(roleNamed(roles, role))
    const known = Object.hasOwn(roles.roles, key)
    const held = known && (await activeUsersWithRole(db, { tenantId, role: key })).length > 0
    reasons.set(
      role,
      held ? undefined : known ? `no active user has the role ${role}` : `the role ${role} does not exist; no user can have it`,
    )
  }
  return named.flatMap(([path, role]) => {
    const reason = reasons.get(role)
    return reason === undefined ? [] : [{ path, reason }]
  })
}

type Page = OfEvent & Readonly<{ cursor?: string | undefined; limit: number }>

/** A page of the unfinished tasks of an event. Throws NOT_FOUND for an event of which this tenant has neither a task nor a room. */
export async function listEventTasks({ db }: Pick<Deps, 'db'>, { tenantId }: AutomationActor, { eventId, cursor, limit }: Page) {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  await assertEvent(db, { tenantId, eventId })
  const found = await tasksOfEvent(db, { tenantId, eventId, unfinishedOnly: true, after, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, pageEnd)
  return { tasks: page.map(taskView), nextCursor }
}

/** An event exists once it has a task or a room. Throws NOT_FOUND. */
export async function assertEvent(db: Db, event: Readonly<{ tenantId: string; eventId: string }>): Promise<void> {
  const [task] = await tasksOfEvent(db, { ...event, unfinishedOnly: false, limit: 1 })
  if (!task && !(await eventRoom(db, event)))
    throw problem('NOT_FOUND', `Event ${event.eventId} has no task and no room in this tenant. fix: create-tasks or create-room first`)
}

type Escalation = Readonly<{ taskId: string; level?: number | undefined; assignedRole?: string | undefined }>
type Escalated = Readonly<{ task: Task; warnings: Warning[] }>

/** Escalates a task; the answer is stored with it, so that a repeated call escalates once. Throws NOT_FOUND, INVALID_TRANSITION. */
export async function escalateEventTask(
  deps: Deps,
  { tenantId }: AutomationActor,
  { taskId, level, assignedRole, store }: Escalation & Pick<OneCall<Escalated>, 'store'>,
): Promise<Escalated> {
  const warnings = await roleWarnings(deps, tenantId, assignedRole === undefined ? [] : [['assignedRole', assignedRole]])
  return deps.db.transaction().execute(async (tx) => {
    const role = assignedRole && roleNamed(deps.roles, assignedRole)
    const change = { type: 'escalate', at: isoNow(deps.clock), level, assignedRole: role } as const
    const moved = await moveTask({ ...deps, tx }, { tenantId, id: taskId }, change)
    if (!moved) throw problem('NOT_FOUND', `Task ${taskId} does not exist in this tenant`)
    const answer = { task: taskView(moved), warnings }
    await store(tx, answer)
    return answer
  })
}
