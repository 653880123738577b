import { z } from 'zod'
import { type Contract, endpoint, Paging, platform, shownLine, TimeInput } from '../contract/index.ts'
import { Task, TaskStatus } from './task.ts'

const base = '/api/platform/v1/tasks'
const one = z.object({ id: z.string().min(1).max(100) })

export const TaskTitle = shownLine(200)
export const OuterTaskId = shownLine(100)
export const AssignedRole = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,78}[A-Za-z0-9]$/, 'must be the name of a role such as teacher or SCHOOL_PRINCIPAL')
const Id = z.string().min(1).max(100)

const CreateTaskBody = z.strictObject({
  title: TaskTitle,
  externalId: OuterTaskId.optional().meta({ description: 'Your own id for the task: unique per event, or among tasks without an event' }),
  eventId: OuterTaskId.optional(),
  spaceId: Id.optional().meta({ description: 'A space you are a member of; its members can read the task' }),
  assignedRole: AssignedRole.optional(),
  assigneeId: Id.optional(),
  dueAt: TimeInput.optional(),
})

const Filters = Paging.extend({
  status: z
    .enum([...TaskStatus.options, 'unfinished'])
    .optional()
    .meta({ description: '`unfinished`: open or in progress' }),
  assignee: Id.optional().meta({ description: 'The id of a user, or `me`: assigned to you, or to one of your roles and to no user' }),
  eventId: OuterTaskId.optional(),
  spaceId: Id.optional(),
  runId: Id.optional(),
})

const ChangeTaskBody = z
  .strictObject({ title: TaskTitle.optional(), dueAt: TimeInput.nullable().optional() })
  .refine((body) => Object.keys(body).length > 0, 'must change something: title or dueAt')
  .meta({ minProperties: 1 })

const EscalateBody = z.strictObject({
  level: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .meta({ description: 'Target level; a level already reached changes nothing. Default: the next level' }),
  assignedRole: AssignedRole.optional().meta({ description: 'New role; the previous assignee loses the task' }),
})

const act = <const Path extends string>(path: Path, summary: string) =>
  endpoint({
    method: 'POST',
    audit: { none: 'own data of users; their events record it' },
    path: `${base}/:id/${path}`,
    auth: platform(),
    params: one,
    returns: Task,
    problems: ['FORBIDDEN', 'INVALID_TRANSITION'],
    summary,
  })

export const tasksContract = {
  listTasks: endpoint({
    method: 'GET',
    path: base,
    auth: platform(),
    query: Filters,
    returns: z.object({ tasks: z.array(Task), nextCursor: z.string().nullable() }),
    summary: 'List tasks you may read, newest first',
  }),
  createTask: endpoint({
    method: 'POST',
    audit: { none: 'own data of users; their events record it' },
    path: base,
    auth: platform('manageBoards'),
    body: CreateTaskBody,
    returns: Task,
    status: 201,
    problems: ['ALREADY_EXISTS', 'NOT_FOUND'],
    summary: 'Create a task for a user or a role',
  }),
  showTask: endpoint({ method: 'GET', path: `${base}/:id`, auth: platform(), params: one, returns: Task, summary: 'Show a task' }),
  changeTask: endpoint({
    method: 'PATCH',
    audit: { none: 'own data of users; their events record it' },
    path: `${base}/:id`,
    auth: platform('manageBoards'),
    params: one,
    body: ChangeTaskBody,
    returns: Task,
    problems: ['INVALID_TRANSITION'],
    summary: 'Change the title or due date of a task',
  }),
  startTask: act('start', 'Start a task; an unassigned one is assigned to you'),
  assignTask: endpoint({
    ...act('assign', 'Assign a task to a user, take it, or return it to its role'),
    body: z.strictObject({ assigneeId: Id.nullable().meta({ description: 'Null returns the task to its role' }) }),
  }),
  completeTask: endpoint({ ...act('complete', 'Complete a task'), problems: ['FORBIDDEN', 'INVALID_TRANSITION', 'RUN_FAILED'] }),
  cancelTask: act('cancel', 'Cancel a task'),
  escalateTask: endpoint({
    ...act('escalate', 'Escalate an overdue task, optionally to another role'),
    body: EscalateBody.default({}),
  }),
} as const satisfies Contract
