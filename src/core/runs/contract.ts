import { z } from 'zod'
import { FormField, StartVariable, Version } from '../boards/index.ts'
import { type Contract, endpoint, Paging, platform, Timestamp } from '../contract/index.ts'

const root = '/api/platform/v1'
export const Id = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[!-~]+$/, 'must be an id')
const one = z.object({ id: Id })

/** Also the form of the header `Idempotency-Key`. */
const Key = z.string().regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 letters, digits or signs without spaces')

export const RunStatus = z.enum(['running', 'waiting', 'completed', 'failed'])

const Failure = z.object({
  code: z.enum(['REJECTED', 'CANCELLED', 'EXPRESSION_FAILED', 'TOO_MANY_STEPS', 'TOO_MUCH_WORK', 'DEADLOCK']),
  elementId: z.string().nullable(),
  message: z.string(),
})

export const RunSummary = z.object({
  id: z.string(),
  boardId: z.string(),
  boardName: z.string(),
  boardVersion: z.int().meta({ description: 'The version that the run began with, or that a retry named' }),
  spaceId: z.string().nullable(),
  status: RunStatus.meta({ description: '`waiting`: for a user; `running`: for a time only' }),
  trigger: z.string().meta({ description: '`manual`, `event`, `chat` or `cron`' }),
  startedBy: z.string().nullable(),
  activeColumnId: z.string().nullable().meta({ description: 'The first of `activeColumnIds`' }),
  activeColumnIds: z.array(z.string()),
  activeElementIds: z.array(z.string()),
  seq: z.int().meta({ description: 'Number of accepted inputs; send it as `expectedSeq`' }),
  failure: Failure.nullable(),
  startedAt: Timestamp,
  completedAt: Timestamp.nullable(),
  slaDeadline: Timestamp.nullable(),
  slaWarningAt: Timestamp.nullable().meta({ description: '80 % of the time until `slaDeadline`' }),
})
export type RunSummary = Readonly<z.infer<typeof RunSummary>>

const Warning = z.object({ elementId: z.string(), code: z.enum(['TOO_FEW_APPROVERS', 'NOBODY_IN_ROLE']), message: z.string() })

const StartedRun = RunSummary.extend({
  warnings: z
    .array(Warning)
    .meta({ description: 'Checkpoints that too few active users can approve now, tasks and forms that none can do' }),
})

const OpenElement = z.object({
  checkpointId: z.string().nullable(),
  runId: z.string(),
  elementId: z.string(),
  kind: z.enum(['task', 'checkpoint', 'form']),
  label: z.string(),
  assignedRole: z.string().nullable().meta({ description: 'Null: it is for the user who started the run' }),
  taskId: z.string().nullable(),
  since: Timestamp,
  dueAt: Timestamp.nullable(),
  requiredApprovals: z.int().nullable(),
  approvals: z.int().nullable().meta({ description: 'Approvals that count now: of active users who have the role and may decide' }),
})

const OpenDetail = OpenElement.extend({
  skippable: z.boolean(),
  fields: z.array(FormField).meta({ description: 'The fields of a form: names and types of the values that `submit` takes' }),
})

export const RunDetail = RunSummary.extend({
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).meta({ description: 'The variables of the run' }),
  open: z.array(OpenDetail).meta({ description: 'The elements that wait for a user' }),
  reports: z
    .array(z.object({ id: z.string(), title: z.string(), status: z.enum(['pending', 'ready', 'failed']) }))
    .meta({ description: 'The last 100 reports' }),
  messages: z
    .array(z.object({ elementId: z.string(), status: z.enum(['pending', 'sent', 'failed']), createdAt: Timestamp }))
    .meta({ description: 'The last 100 messages; `failed`: not sent, and not tried again' }),
})
export type RunDetail = Readonly<z.infer<typeof RunDetail>>

export const HistoryEntry = z.object({
  seq: z.int(),
  at: Timestamp,
  type: z.enum(['start', 'complete', 'skip', 'approve', 'reject', 'submit', 'timer', 'cancel', 'retry']),
  elementId: z.string().nullable(),
  by: z.string().nullable().meta({ description: 'Null: a timer, a trigger or automation' }),
  boardVersion: z.int().nullable().meta({ description: 'The version of the board with which a retry continued; else null' }),
})

export const Report = z.object({
  id: z.string(),
  runId: z.string(),
  title: z.string(),
  status: z.enum(['pending', 'ready', 'failed']).meta({ description: '`failed`: the files cannot be stored, such as in a deleted space' }),
  markdown: z.string(),
  missing: z.array(z.string()).meta({ description: 'Names in the template that had no value' }),
  spaceId: z.string().nullable(),
  markdownFileId: z.string().nullable(),
  pdfFileId: z.string().nullable(),
  createdAt: Timestamp,
})

const Action = z.enum(['complete', 'approve', 'reject', 'submit', 'skip'])

export const RetryVersion = Version.optional().meta({
  description: 'The published version of the board, to continue with it: it has everything that the run holds',
})

const manages = <const Path extends string, const Code extends 'RUN_CHANGED' | 'RUN_FAILED' | 'VERSION_UNFIT' = never>(
  path: Path,
  summary: string,
  codes: readonly Code[] = [],
) =>
  endpoint({
    method: 'POST',
    audit: path === 'cancel' ? 'run.cancelled' : 'run.retried',
    path: `${root}/runs/:id/${path}`,
    auth: platform('manageRuns'),
    params: one,
    returns: RunSummary,
    problems: ['INVALID_TRANSITION', 'RUN_ENDED', ...codes],
    summary,
    spec: '4.9',
  })

/** A board for those who may start its runs. */
const StartableBoard = z.object({
  ...{ id: z.string(), name: z.string(), description: z.string() },
  spaceId: z
    .string()
    .nullable()
    .meta({ description: 'The space of its runs; null: the start names one, or it is private and you are no member' }),
  acceptsSpace: z.boolean().meta({ description: 'Whether the start names the space of the run' }),
  variables: z.array(StartVariable).meta({ description: 'The variables that a start may or must have' }),
})
export type StartableBoard = Readonly<z.infer<typeof StartableBoard>>

export const runsContract = {
  listStartableBoards: endpoint({
    method: 'GET',
    path: `${root}/cascade-boards/startable`,
    auth: platform(),
    query: Paging,
    returns: z.object({ boards: z.array(StartableBoard), nextCursor: z.string().nullable() }),
    summary: 'List the active boards of which you may start a run, newest first',
    spec: '4.9',
  }),
  startRun: endpoint({
    method: 'POST',
    audit: { none: 'own data of users; their events record it' },
    path: `${root}/cascade-boards/:id/runs`,
    auth: platform(),
    params: one,
    body: z.strictObject({
      spaceId: Id.nullable().default(null).meta({ description: 'The space of the run, if the board names none' }),
      variables: z.record(z.string(), z.unknown()).default({}),
      key: Key.optional().meta({ description: 'The same key of the same board returns the run that it started' }),
    }),
    bodyLimit: 1024 * 1024,
    returns: StartedRun,
    status: 201,
    problems: ['BOARD_NOT_ACTIVE', 'KEY_REUSED', 'PAYLOAD_TOO_LARGE'],
    summary: 'Start a run of the published version of a board',
    spec: '4.9',
  }),
  listRuns: endpoint({
    method: 'GET',
    path: `${root}/cascade-boards/:id/runs`,
    auth: platform(),
    params: one,
    query: Paging.extend({ status: RunStatus.optional() }),
    returns: z.object({ runs: z.array(RunSummary), nextCursor: z.string().nullable() }),
    summary: 'List the runs of a board that you have a part in, newest first; with manageRuns those of every space that you find',
    spec: '4.9',
  }),
  showRun: endpoint({
    method: 'GET',
    path: `${root}/runs/:id`,
    auth: platform(),
    params: one,
    returns: RunDetail,
    summary: 'Show a run with its variables and what it waits for',
    spec: '4.9',
  }),
  advanceRun: endpoint({
    method: 'POST',
    audit: 'run.skipped',
    path: `${root}/runs/:id/advance`,
    auth: platform(),
    params: one,
    body: z.strictObject({
      elementId: Id,
      action: Action,
      data: z.record(z.string(), z.unknown()).optional().meta({ description: 'The values of a form' }),
      expectedSeq: z.int().min(0).optional().meta({ description: 'The `seq` you read; a run that changed since is 409' }),
    }),
    bodyLimit: 1024 * 1024,
    idempotent: true,
    returns: RunSummary,
    problems: ['ELEMENT_NOT_ACTIVE', 'INVALID_TRANSITION', 'KEY_REUSED', 'PAYLOAD_TOO_LARGE', 'RUN_CHANGED', 'RUN_ENDED', 'RUN_FAILED'],
    summary: 'Complete, approve, reject, submit or skip an element; the header Idempotency-Key makes it safe to repeat',
    spec: '4.9',
  }),
  cancelRun: manages('cancel', 'Cancel a run: its tasks, checkpoints and timers end'),
  retryRun: endpoint({
    ...manages('retry', 'Continue a failed run at the element that failed', ['RUN_CHANGED', 'RUN_FAILED', 'VERSION_UNFIT']),
    body: z.strictObject({ boardVersion: RetryVersion }).prefault({}),
  }),
  runHistory: endpoint({
    method: 'GET',
    path: `${root}/runs/:id/history`,
    auth: platform(),
    params: one,
    query: Paging,
    returns: z.object({ entries: z.array(HistoryEntry), nextCursor: z.string().nullable() }),
    summary: 'List the steps of a run, oldest first, without the values of forms',
    spec: '4.9',
  }),
  listCheckpoints: endpoint({
    method: 'GET',
    path: `${root}/checkpoints`,
    auth: platform(),
    query: Paging,
    returns: z.object({ checkpoints: z.array(OpenElement), nextCursor: z.string().nullable() }),
    summary: 'List open checkpoints and forms of your roles, and your own, oldest first',
    spec: '4.9',
  }),
  showReport: endpoint({
    method: 'GET',
    path: `${root}/reports/:id`,
    auth: platform(),
    params: one,
    returns: Report,
    summary: 'Show a report of a run you may read',
    spec: '4.9',
  }),
} as const satisfies Contract
