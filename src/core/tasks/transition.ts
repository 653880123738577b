import { problem } from '../kit/index.ts'
import type { Task, TaskStatus } from './task.ts'

/** The part of a task that moves change. */
type TaskState = Pick<Task, 'status' | 'assignedRole' | 'assigneeId' | 'escalationLevel' | 'escalatedAt'>

/** What can be done to a task. `at` is the time it is done, ISO 8601. */
export type TaskMove =
  /** Who begins is the assignee from then on when nobody was. */
  | Readonly<{ type: 'start'; by: string }>
  /** To a user, or back to the role. */
  | Readonly<{ type: 'assign'; assigneeId: string | null }>
  | Readonly<{ type: 'complete' }>
  | Readonly<{ type: 'cancel' }>
  /** To a level, the next one where none is named; to another role, whose people then decide who takes it. */
  | Readonly<{ type: 'escalate'; at: string; level?: number | undefined; assignedRole?: string | undefined }>

/** Which moves each status allows; everything else is `InvalidTransition`. */
const allowed = {
  open: ['start', 'assign', 'complete', 'cancel', 'escalate'],
  in_progress: ['assign', 'complete', 'cancel', 'escalate'],
  done: [],
  cancelled: [],
} as const satisfies Record<TaskStatus, readonly TaskMove['type'][]>

/** Makes a move, or throws INVALID_TRANSITION. Pure; what has nothing to change comes back as it is. The caller stores what comes back. */
export function transition<State extends TaskState>(task: State, move: TaskMove): State {
  const moves: readonly string[] = allowed[task.status]
  if (!moves.includes(move.type)) {
    const left = moves.length > 0 ? `it takes ${moves.join(', ')}` : 'nothing can be done to it any more'
    throw problem('INVALID_TRANSITION', `the task is ${task.status}, so ${move.type} is not possible: ${left}`)
  }
  const changes = changesOf(task, move)
  return changes === undefined ? task : { ...task, ...changes }
}

function changesOf(task: TaskState, move: TaskMove): Partial<TaskState> | undefined {
  switch (move.type) {
    case 'start':
      return { status: 'in_progress', assigneeId: task.assigneeId ?? move.by }
    case 'assign':
      // Somebody else has not begun yet.
      return move.assigneeId === task.assigneeId ? undefined : { status: 'open', assigneeId: move.assigneeId }
    case 'complete':
      return { status: 'done' }
    case 'cancel':
      return { status: 'cancelled' }
    case 'escalate':
      return escalation(task, move)
  }
}

/** A level that was reached is not reached again: whoever repeats a call that broke off escalates once. */
function escalation(task: TaskState, { at, level, assignedRole }: TaskMove & { type: 'escalate' }): Partial<TaskState> | undefined {
  const reached = level ?? task.escalationLevel + 1
  if (reached <= task.escalationLevel) return undefined
  const handedOn = assignedRole === undefined ? {} : ({ assignedRole, assigneeId: null, status: 'open' } as const)
  return { escalationLevel: reached, escalatedAt: at, ...handedOn }
}
