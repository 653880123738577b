import type { Audience } from '../events/index.ts'
import type { Capability } from '../kit/index.ts'
import { roleKey, type Task } from './task.ts'
import type { TaskMove } from './transition.ts'

/** The caller, with its current roles. */
export type TaskCaller = Readonly<{ userId: string; roles: readonly string[]; capabilities: readonly Capability[] }>

type Placed = Pick<Task, 'spaceId' | 'assignedRole' | 'assigneeId'> & Readonly<{ createdBy: string | null }>

/** Users with `manageRuns` may change every task they may read. */
const manages = ({ capabilities }: TaskCaller): boolean => capabilities.includes('manageRuns')

/**
 * The readers of a task, who also receive its events: assignee or role, creator, and the members of its space. Without a space: users with
 * `manageRuns`, who do not see tasks of private spaces they are not in.
 */
export function audienceOf({ spaceId, assignedRole, assigneeId, createdBy }: Placed): Exclude<Audience, 'tenant'> {
  const users = [...new Set([assigneeId, createdBy])].filter((id) => id !== null)
  return {
    ...(spaceId === null ? { capability: 'manageRuns' as const } : { spaces: [spaceId] }),
    ...(users.length > 0 ? { users } : {}),
    ...(assignedRole === null ? {} : { roles: [roleKey(assignedRole)] }),
  }
}

/** The audience of a change, including the previous assignee, so that its clients remove the task. */
export function audienceOfChange(before: Placed, after: Placed): Exclude<Audience, 'tenant'> {
  const [was, is] = [audienceOf(before), audienceOf(after)]
  const users = [...new Set([...(is.users ?? []), ...(was.users ?? [])])]
  const roles = [...new Set([...(is.roles ?? []), ...(was.roles ?? [])])]
  return { ...is, ...(users.length > 0 ? { users } : {}), ...(roles.length > 0 ? { roles } : {}) }
}

/** True if the caller is the assignee, or has the role of an unassigned task. */
export const isAssignedTo = (
  { assignedRole, assigneeId }: Pick<Task, 'assignedRole' | 'assigneeId'>,
  { userId, roles }: TaskCaller,
): boolean => (assigneeId === null ? assignedRole !== null && roles.includes(roleKey(assignedRole)) : assigneeId === userId)

/** True if a reader of the task may also make this move. */
export function mayMove(task: Placed, caller: TaskCaller, move: TaskMove): boolean {
  if (manages(caller)) return true
  const made = task.createdBy === caller.userId
  if (move.type === 'cancel') return made
  if (move.type === 'escalate') return made || isAssignedTo(task, caller)
  if (move.type !== 'assign') return isAssignedTo(task, caller)
  // Taking a task or returning it is allowed, assigning it to others is not.
  return isAssignedTo(task, caller) && (move.assigneeId === null || move.assigneeId === caller.userId)
}
