import type { Audience } from '../events/index.ts'
import type { Capability } from '../kit/index.ts'
import { roleKey, type Task } from './task.ts'
import type { TaskMove } from './transition.ts'

/** Who asks, as the record has it now. */
export type TaskCaller = Readonly<{ userId: string; roles: readonly string[]; capabilities: readonly Capability[] }>

type Placed = Pick<Task, 'spaceId' | 'assignedRole' | 'assigneeId'> & Readonly<{ createdBy: string | null }>

/** Boards and automation make tasks, so those who manage boards manage the tasks that they may read. */
const manages = ({ capabilities }: TaskCaller): boolean => capabilities.includes('manageBoards')

/**
 * Who may read a task, and so who is told of it: whoever has to do it, who made it, and the members of its space; of one that is in no space those who
 * manage boards. A task of a closed space is no business of managers who are not in it.
 */
export function audienceOf({ spaceId, assignedRole, assigneeId, createdBy }: Placed): Exclude<Audience, 'tenant'> {
  const users = [...new Set([assigneeId, createdBy])].filter((id) => id !== null)
  return {
    ...(spaceId === null ? { capability: 'manageBoards' as const } : { spaces: [spaceId] }),
    ...(users.length > 0 ? { users } : {}),
    ...(assignedRole === null ? {} : { roles: [roleKey(assignedRole)] }),
  }
}

/** Of a change: also whom the task is taken from, so that their clients let it go. */
export function audienceOfChange(before: Placed, after: Placed): Exclude<Audience, 'tenant'> {
  const [was, is] = [audienceOf(before), audienceOf(after)]
  const users = [...new Set([...(is.users ?? []), ...(was.users ?? [])])]
  const roles = [...new Set([...(is.roles ?? []), ...(was.roles ?? [])])]
  return { ...is, ...(users.length > 0 ? { users } : {}), ...(roles.length > 0 ? { roles } : {}) }
}

/** Whether it falls to the caller to do it: by name, or by a role as long as nobody of it has taken it. */
export const isAssignedTo = (
  { assignedRole, assigneeId }: Pick<Task, 'assignedRole' | 'assigneeId'>,
  { userId, roles }: TaskCaller,
): boolean => (assigneeId === null ? assignedRole !== null && roles.includes(roleKey(assignedRole)) : assigneeId === userId)

/** Whether somebody who may read a task may also do this to it. */
export function mayMove(task: Placed, caller: TaskCaller, move: TaskMove): boolean {
  if (manages(caller)) return true
  const made = task.createdBy === caller.userId
  if (move.type === 'cancel') return made
  if (move.type === 'escalate') return made || isAssignedTo(task, caller)
  if (move.type !== 'assign') return isAssignedTo(task, caller)
  // One may take it or hand it back, not push it on to somebody.
  return isAssignedTo(task, caller) && (move.assigneeId === null || move.assigneeId === caller.userId)
}
