import { problem } from '../kit/index.ts'
import type { Task, TaskStatus } from './task.ts'

type TaskState = Pick<Task, 'status' | 'assignedRole' | 'assigneeId' | 'escalationLevel' | 'escalatedAt'>

/** A change of a task. `at`: time of the change, ISO 8601. */
export type TaskMove =
  /** Assigns an unassigned task to the caller. */
  | Readonly<{ type: 'start'; by: string }>
  /** To a user, or (null) back to the role. */
  | Readonly<{ type: 'assign'; assigneeId: string | null }>
  | Readonly<{ type: 'complete' }>
  | Readonly<{ type: 'cancel' }>
  /** To `level` (default: the next), optionally unassigned to another role. */
  | Readonly<{ type: 'escalate'; at: string; level?: number | undefined; assignedRole?: string | undefined }>

/** Allowed moves per status; all others throw INVALID_TRANSITION. */
const allowed = {
  open: ['start', 'assign', 'complete', 'cancel', 'escalate'],
  in_progress: ['assign', 'complete', 'cancel', 'escalate'],
  done: [],
  cancelled: [],
} as const satisfies Record<TaskStatus, readonly TaskMove['type'][]>

/** Returns the task after a move, or the same object if nothing changes. Throws INVALID_TRANSITION. */
export function transition<State extends TaskState>(task: State, move: TaskMove): State {
  const moves: readonly string[] = allowed[task.status]
  if (!moves.includes(move.type)) {
    const left = moves.length > 0 ? `Possible: ${moves.join(', ')}.` : 'It cannot be changed any more.'
    throw problem('INVALID_TRANSITION', `The task is ${task.status}, so ${move.type} is not possible. ${left}`)
  }
  const changes = changesOf(task, move)
  return changes === undefined ? task : { ...task, ...changes }
}

function changesOf(task: TaskState, move: TaskMove): Partial<TaskState> | undefined {
  switch (move.type) {
    case 'start':
      return { status: 'in_progress', assigneeId: task.assigneeId ?? move.by }
    case 'assign':
      // A new assignee has not started yet.
      return move.assigneeId === task.assigneeId ? undefined : { status: 'open', assigneeId: move.assigneeId }
    case 'complete':
      return { status: 'done' }
    case 'cancel':
      return { status: 'cancelled' }
    case 'escalate':
      return escalation(task, move)
  }
}

/** Undefined for a level already reached, so that a repeated call escalates once. */
function escalation(task: TaskState, { at, level, assignedRole }: TaskMove & { type: 'escalate' }): Partial<TaskState> | undefined {
  const reached = level ?? task.escalationLevel + 1
  if (reached <= task.escalationLevel) return undefined
  const reassigned = assignedRole === undefined ? {} : ({ assignedRole, assigneeId: null, status: 'open' } as const)
  return { escalationLevel: reached, escalatedAt: at, ...reassigned }
}
