import { z } from 'zod'
import { type Contract, endpoint, Paging, platform, Timestamp } from '../contract/index.ts'
import { isVisible, visiblePattern } from '../kit/index.ts'
import { Task, TaskStatus } from './task.ts'

const base = '/api/platform/v1/tasks'
const one = z.object({ id: z.string().min(1).max(100) })

const line = (most: number) =>
  z.string().max(most).trim().min(1).refine(isVisible, 'must not contain control characters').meta({ pattern: visiblePattern })

const TaskTitle = line(200)
const OuterTaskId = line(100)
const AssignedRole = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,78}[A-Za-z0-9]$/, 'must be the name of a role such as teacher or SCHOOL_PRINCIPAL')
const Id = z.string().min(1).max(100)

const CreateTaskBody = z.strictObject({
  title: TaskTitle,
  externalId: OuterTaskId.optional().meta({ description: 'Your own name for it: unique per event, or among tasks of no event' }),
  eventId: OuterTaskId.optional(),
  spaceId: Id.optional().meta({ description: 'A space that you are a member of; its members read the task' }),
  assignedRole: AssignedRole.optional(),
  assigneeId: Id.optional(),
  dueAt: Timestamp.optional(),
})

const Filters = Paging.extend({
  status: TaskStatus.optional(),
  assignee: Id.optional().meta({ description: 'The id of a user, or `me`' }),
  eventId: OuterTaskId.optional(),
  spaceId: Id.optional(),
  runId: Id.optional(),
})

const ChangeTaskBody = z
  .strictObject({ title: TaskTitle.optional(), dueAt: Timestamp.nullable().optional() })
  .refine((body) => Object.keys(body).length > 0, 'must change something: title or dueAt')
  .meta({ minProperties: 1 })

const EscalateBody = z.strictObject({
  level: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .meta({ description: 'The level to reach; one that was reached changes nothing. Without it, the next' }),
  assignedRole: AssignedRole.optional().meta({ description: 'To whom it goes now; whoever had it has it no more' }),
})

const act = <const Path extends string>(path: Path, summary: string) =>
  endpoint({
    method: 'POST',
    path: `${base}/:id/${path}`,
    auth: platform(),
    params: one,
    returns: Task,
    problems: ['FORBIDDEN', 'INVALID_TRANSITION'],
    summary,
  })

/** What has to be done in a tenant. Boards and automation make tasks; users see theirs in the bootstrap document. */
export const tasksContract = {
  listTasks: endpoint({
    method: 'GET',
    path: base,
    auth: platform(),
    query: Filters,
    returns: z.object({ tasks: z.array(Task), nextCursor: z.string().nullable() }),
    summary: 'Tasks that you may read, the newest first',
  }),
  createTask: endpoint({
    method: 'POST',
    path: base,
    auth: platform('manageBoards'),
    body: CreateTaskBody,
    returns: Task,
    status: 201,
    problems: ['ALREADY_EXISTS', 'NOT_FOUND'],
    summary: 'Make a task, for a user or for whoever has a role',
  }),
  showTask: endpoint({ method: 'GET', path: `${base}/:id`, auth: platform(), params: one, returns: Task, summary: 'One task' }),
  changeTask: endpoint({
    method: 'PATCH',
    path: `${base}/:id`,
    auth: platform('manageBoards'),
    params: one,
    body: ChangeTaskBody,
    returns: Task,
    problems: ['INVALID_TRANSITION'],
    summary: 'Say anew what is to be done or until when; what is not named stays',
  }),
  startTask: act('start', 'Begin a task; one that was of a role alone is yours then'),
  assignTask: endpoint({
    ...act('assign', 'Give a task to a user, take it, or hand it back'),
    body: z.strictObject({ assigneeId: Id.nullable().meta({ description: 'Null hands it back to the role' }) }),
  }),
  completeTask: act('complete', 'Say that a task is done'),
  cancelTask: act('cancel', 'Say that a task need not be done any more'),
  escalateTask: endpoint({
    ...act('escalate', 'Raise a task that is not done in time, to other people if need be'),
    body: EscalateBody.default({}),
  }),
} as const satisfies Contract
