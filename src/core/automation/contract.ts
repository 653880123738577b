import { z } from 'zod'
import { automation, type Contract, endpoint, Paging, pagingBy, TimeInput, Timestamp } from '../contract/index.ts'
import { Space, SpaceMember, SpaceName, SpaceRole, SpaceType, SpaceVisibility } from '../spaces/index.ts'
import { AssignedRole, OuterTaskId, Task, TaskTitle } from '../tasks/index.ts'
import { KnownLocalpart, User, UserKey } from '../users/index.ts'
import { maxTemplateLetters } from './report.ts'

const base = '/api/platform/v1/auto-callback'
const TenantKey = z.string().min(1).max(100)
const tenantId = TenantKey.meta({ description: 'The tenant that the call acts for; the key must be valid for it' })
const ofTenant = z.strictObject({ tenantId })
const TenantPage = Paging.extend({ tenantId })

/** The caller's own id of an event, such as an alarm. Events of two tenants never meet, even with one id. */
const ofEvent = z.object({ eventId: OuterTaskId })
const SpaceKey = z.string().regex(/^spc_[0-9a-z]{20}$/, 'must be the id of a space')
const TaskKey = z.string().min(1).max(100)
const RoomId = z.string().regex(/^![!-~]{1,254}$/, 'must be the id of a chat room')

/** An accepted value that may be a mistake. */
const Warning = z.object({ path: z.string(), reason: z.string() })
export type Warning = z.infer<typeof Warning>

const NewEventTask = z.strictObject({
  id: OuterTaskId.meta({ description: 'Your own id: a task of this event with this id is created once' }),
  title: TaskTitle,
  assignedRole: AssignedRole.meta({ description: 'Such as SCHOOL_PRINCIPAL, or the name in the role file: school-principal' }),
  dueAt: TimeInput.optional(),
  spaceId: SpaceKey.optional().meta({ description: 'The members of this space can read the task' }),
})
export type NewEventTask = z.output<typeof NewEventTask>

const Message = {
  body: z.string().min(1).max(20_000),
  html: z.string().min(1).max(40_000).optional().meta({ description: 'The same text as HTML, for chat clients that show it' }),
}

const TenantInfo = z.object({
  tenantId: z.string(),
  slug: z.string(),
  name: z.string(),
  chatDomain: z.string(),
  plan: z.string(),
  status: z.string(),
  schoolId: z.string(),
  orgId: z.string(),
})

const TenantSpace = Space.omit({ role: true })
const TenantUser = User.pick({ id: true, localpart: true, matrixUserId: true, displayName: true, roles: true, status: true })

const Room = z.object({
  roomId: z.string(),
  name: z.string(),
  kind: z.enum(['event', 'space']),
  eventId: z.string().nullable(),
  spaceId: z.string().nullable(),
})
export type Room = z.infer<typeof Room>

const spec = '4.4'
const chatProblems = ['HOMESERVER_UNREACHABLE', 'KEY_REUSED', 'CONFLICT', 'NOT_FOUND'] as const
const postProblems = ['KEY_REUSED', 'CONFLICT', 'NOT_FOUND'] as const

/** Crisis events: their tasks, room, messages and report. */
const events = {
  createEventTasks: endpoint({
    method: 'POST',
    audit: { none: 'events record the tasks and files of tools; the chat has their messages' },
    path: `${base}/events/:eventId/create-tasks`,
    auth: automation,
    params: ofEvent,
    body: ofTenant.extend({ tasks: z.array(NewEventTask).min(1).max(200) }),
    returns: z.object({ tasks: z.array(Task), created: z.int(), warnings: z.array(Warning) }),
    problems: postProblems,
    summary: 'Create tasks for an event; a task that exists is returned unchanged',
    spec,
  }),
  createEventRoom: endpoint({
    method: 'POST',
    audit: 'automation.room-created',
    path: `${base}/events/:eventId/create-room`,
    auth: automation,
    params: ofEvent,
    body: ofTenant.extend({
      name: SpaceName,
      topic: z.string().max(500).optional(),
      userIds: z.array(UserKey).max(500).default([]),
      roles: z.array(AssignedRole).max(20).default([]).meta({ description: 'Their active users become members too' }),
    }),
    returns: z.object({ roomId: z.string(), created: z.boolean(), members: z.int(), warnings: z.array(Warning) }),
    problems: chatProblems,
    summary: 'Create the chat room of an event, or add members to it; an event has one room. Members join within seconds',
    spec,
  }),
  notifyEventRoom: endpoint({
    method: 'POST',
    audit: { none: 'events record the tasks and files of tools; the chat has their messages' },
    path: `${base}/events/:eventId/notify-matrix`,
    auth: automation,
    params: ofEvent,
    body: ofTenant.extend(Message),
    returns: z.object({ eventId: z.string().meta({ description: 'The id of the message in the chat' }), roomId: z.string() }),
    problems: ['NO_ROOM', 'PAYLOAD_TOO_LARGE', ...chatProblems],
    summary: 'Send a message to the chat room of an event',
    spec,
  }),
  listEventTasks: endpoint({
    method: 'GET',
    path: `${base}/events/:eventId/tasks`,
    auth: automation,
    params: ofEvent,
    query: TenantPage,
    returns: z.object({ tasks: z.array(Task), nextCursor: z.string().nullable() }),
    summary: 'List the unfinished tasks of an event, newest first',
    spec,
  }),
  escalateEventTask: endpoint({
    method: 'POST',
    audit: { none: 'events record the tasks and files of tools; the chat has their messages' },
    path: `${base}/tasks/:taskId/escalate`,
    auth: automation,
    params: z.object({ taskId: TaskKey }),
    body: ofTenant.extend({
      level: z.int().min(1).max(1000).optional().meta({ description: 'A level already reached changes nothing. Default: the next level' }),
      assignedRole: AssignedRole.optional().meta({ description: 'New role; the previous assignee loses the task' }),
    }),
    returns: z.object({ task: Task, warnings: z.array(Warning) }),
    problems: ['INVALID_TRANSITION', ...postProblems],
    summary: 'Escalate an overdue task, optionally to another role',
    spec,
  }),
  generateEventReport: endpoint({
    method: 'POST',
    audit: { none: 'events record the tasks and files of tools; the chat has their messages' },
    path: `${base}/events/:eventId/generate-report`,
    auth: automation,
    cost: 'render',
    params: ofEvent,
    body: ofTenant.extend({
      title: SpaceName.optional(),
      template: z.string().min(1).max(maxTemplateLetters).optional().meta({ description: 'Markdown with {variableName} placeholders' }),
      variables: z
        .record(z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/), z.union([z.string().max(20_000), z.number(), z.boolean()]))
        .refine((all) => Object.keys(all).length <= 200, 'must have at most 200 names')
        .default({}),
      spaceId: SpaceKey.optional().meta({ description: 'The report is stored in this space as Markdown and PDF' }),
    }),
    returns: z.object({
      title: z.string(),
      markdown: z.string(),
      missing: z.array(z.string()).meta({ description: 'Placeholders without a value; the report shows (none)' }),
      files: z.object({ spaceId: z.string(), markdownFileId: z.string(), pdfFileId: z.string() }).nullable(),
    }),
    problems: ['QUOTA_EXCEEDED', 'OBJECT_STORE_UNAVAILABLE', ...postProblems],
    summary: 'Write the report of an event, and store it if a space is named',
    spec,
  }),
} as const satisfies Contract

/** The tenant, its spaces, users and chat rooms. */
const tenants = {
  findTenant: endpoint({
    method: 'GET',
    path: `${base}/tenant-info`,
    auth: automation,
    query: z
      .strictObject({ tenantId: TenantKey.optional(), slug: z.string().max(40).optional(), chatDomain: z.string().max(253).optional() })
      .refine(
        (named) => Object.values(named).filter((one) => one !== undefined).length <= 1,
        'must name one of tenantId, slug, chatDomain',
      ),
    returns: TenantInfo,
    summary: 'Look up a tenant by its id, slug or chat domain; without them the only tenant of the key',
    spec,
  }),
  listTenantSpaces: endpoint({
    method: 'GET',
    path: `${base}/spaces`,
    auth: automation,
    query: pagingBy(SpaceKey).extend({ tenantId }),
    returns: z.object({ spaces: z.array(TenantSpace), nextCursor: z.string().nullable() }),
    summary: 'List all spaces of a tenant',
    spec,
  }),
  createTenantSpace: endpoint({
    method: 'POST',
    audit: 'space.created',
    path: `${base}/spaces/create`,
    auth: automation,
    body: ofTenant.extend({ name: SpaceName, type: SpaceType, visibility: SpaceVisibility }),
    returns: TenantSpace,
    status: 201,
    problems: postProblems,
    summary: 'Create a space without members; its chat rooms follow as soon as the chat server accepts writes',
    spec,
  }),
  addTenantSpaceMember: endpoint({
    method: 'POST',
    audit: 'space.member-added',
    path: `${base}/spaces/:spaceId/members`,
    auth: automation,
    params: z.object({ spaceId: SpaceKey }),
    body: ofTenant.extend({ userId: UserKey, role: SpaceRole.default('member') }),
    returns: SpaceMember,
    problems: postProblems,
    summary: 'Add a user to a space, or change its role there',
    spec,
  }),
  listTenantUsers: endpoint({
    method: 'GET',
    path: `${base}/users`,
    auth: automation,
    query: pagingBy(KnownLocalpart).extend({ tenantId }),
    returns: z.object({ users: z.array(TenantUser), nextCursor: z.string().nullable() }),
    summary: 'List the users of a tenant by name',
    spec,
  }),
  sendTenantMessage: endpoint({
    method: 'POST',
    audit: { none: 'events record the tasks and files of tools; the chat has their messages' },
    path: `${base}/matrix/send`,
    auth: automation,
    body: ofTenant.extend({ roomId: RoomId, ...Message }),
    returns: z.object({ eventId: z.string(), roomId: z.string() }),
    problems: ['PAYLOAD_TOO_LARGE', ...chatProblems],
    summary: 'Send a message to a chat room of a space or an event',
    spec,
  }),
  listTenantRooms: endpoint({
    method: 'GET',
    path: `${base}/matrix/rooms`,
    auth: automation,
    query: TenantPage,
    returns: z.object({ rooms: z.array(Room), nextCursor: z.string().nullable() }),
    summary: 'List the chat rooms of the events and spaces of a tenant',
    spec,
  }),
  showChatCredentials: endpoint({
    method: 'GET',
    path: `${base}/matrix/credentials`,
    auth: automation,
    query: ofTenant,
    returns: z.object({
      userId: z.string(),
      accessToken: z.string(),
      homeserver: z.string().meta({ description: 'The host name of the chat server' }),
      issuedAt: Timestamp,
    }),
    problems: ['HOMESERVER_UNREACHABLE', 'CONFLICT'],
    summary: 'Show the chat token of the tenant’s automation user; it is the same until an operator rotates it',
    spec,
  }),
} as const satisfies Contract

/** Callbacks for an automation tool (spec 4.4). Nothing here deletes. */
export const automationContract = { ...events, ...tenants } as const satisfies Contract
