import { roleKey, type Task, unfinished } from './task.ts'

type Assigned = Pick<Task, 'status' | 'assigneeId' | 'assignedRole' | 'escalationLevel'>

/** A user, or all holders of a role by its key. */
export type Asked = Readonly<{ userId: string } | { role: string }>

const roleOf = ({ assignedRole }: Assigned): string | null => assignedRole && roleKey(assignedRole)

/** The user or role that a new or changed task asks to act, and did not ask before; undefined: no one. An escalation asks again. */
export function newlyAsked(before: Assigned | undefined, after: Assigned): Asked | undefined {
  if (!(unfinished as readonly string[]).includes(after.status)) return undefined
  const isAgain = before !== undefined && after.escalationLevel <= before.escalationLevel
  if (after.assigneeId !== null) return isAgain && after.assigneeId === before.assigneeId ? undefined : { userId: after.assigneeId }
  const role = roleOf(after)
  return role === null || (isAgain && roleOf(before) === role) ? undefined : { role }
}
