import type { StartableBoard } from '../../core/runs/index.ts'
import type { Task } from '../../core/tasks/index.ts'
import { ago, type Column, command, count, flag, type Style, sections, table, text } from '../kit/index.ts'
import { asUser } from './as-user.ts'
import { approvalsOf, type WaitingElement } from './runs.view.ts'

// A user of a tenant finds boards to start, and elements and tasks that wait, without an operator.

const paging = { limit: count('--limit <count>', 'max results'), cursor: text('--cursor <cursor>', 'pagination cursor') }
const nextPage = (cursor: string | null) => (cursor ? `Next page: --cursor ${cursor}` : '')

/** `isDrill:=… [place=…]`: as `runs start` takes them, optional ones in brackets. */
const variablesOf = ({ variables }: StartableBoard): string =>
  variables
    .map(({ name, type, required }) => {
      const value = `${name}${type === 'number' || type === 'boolean' ? ':=' : '='}<${type}>`
      return required ? value : `[${value}]`
    })
    .join(' ')

const boardColumns: readonly Column<StartableBoard>[] = [
  { title: 'ID', value: ({ id }) => id, priority: 1 },
  { title: 'NAME', value: ({ name }) => name, priority: 1, minWidth: 12 },
  { title: 'SPACE', value: ({ spaceId, acceptsSpace }) => spaceId ?? (acceptsSpace ? 'pass --space' : 'private'), priority: 2 },
  { title: 'VALUES', value: variablesOf, priority: 2, minWidth: 12 },
  { title: 'DESCRIPTION', value: ({ description }) => description, priority: 3, minWidth: 12 },
]

export const startable = command('startable', 'List the boards that you may start, as a user of a tenant', {
  options: paging,
  run: async (context, query) => context.api.runs.listStartableBoards({ query }, await asUser(context)),
  view: ({ boards, nextCursor }, style) =>
    sections(boards.length === 0 && nextCursor === null ? 'No boards.' : table(style, boardColumns, boards), nextPage(nextCursor)),
  asUser: true,
  reads: true,
  examples: ['startable', 'startable --json'],
})

const waitingColumns = ({ now }: Style): Column<WaitingElement>[] => [
  { title: 'RUN', value: ({ runId }) => runId, priority: 1 },
  { title: 'ELEMENT', value: ({ elementId }) => elementId, priority: 1 },
  { title: 'KIND', value: ({ kind }) => kind, priority: 1 },
  { title: 'LABEL', value: ({ label }) => label, priority: 2, minWidth: 10 },
  { title: 'SINCE', value: ({ since }) => ago(since, now), priority: 2 },
  { title: 'DUE', value: ({ dueAt }) => dueAt && ago(dueAt, now), priority: 2 },
  { title: 'APPROVALS', value: approvalsOf, priority: 2 },
]

export const waiting = command('waiting', 'List checkpoints and forms that wait for your roles', {
  options: paging,
  run: async (context, query) => context.api.runs.listCheckpoints({ query }, await asUser(context)),
  view: ({ checkpoints, nextCursor }, style) =>
    sections(
      checkpoints.length === 0
        ? 'No checkpoint or form waits for you. To list tasks: tenantry runs tasks'
        : table(style, waitingColumns(style), checkpoints),
      nextPage(nextCursor),
      checkpoints.length === 0 ? '' : 'To see the fields: tenantry runs open <run>\nTo list tasks: tenantry runs tasks',
    ),
  asUser: true,
  reads: true,
  examples: ['waiting', 'waiting --json'],
})

const isLate = ({ dueAt }: Task, now: Date): boolean => dueAt !== null && dueAt < now.toISOString()

const taskColumns = ({ now }: Style): Column<Task>[] => [
  { title: 'ID', value: ({ id }) => id, priority: 1 },
  { title: 'TITLE', value: ({ title }) => title, priority: 1, minWidth: 12 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1 },
  { title: 'ASSIGNEE', value: ({ assigneeId }) => assigneeId, priority: 1 },
  { title: 'ROLE', value: ({ assignedRole }) => assignedRole, priority: 2 },
  { title: 'DUE', value: ({ dueAt }) => dueAt && ago(dueAt, now), priority: 2 },
  {
    title: 'LATE',
    value: (task) => (isLate(task, now) ? 'yes' : 'no'),
    priority: 1,
    paint: (task) => (isLate(task, now) ? 'red' : undefined),
  },
  { title: 'RUN', value: ({ runId }) => runId, priority: 2 },
]

export const tasks = command('tasks', 'List the unfinished tasks that you may read', {
  options: { run: text('--run <id>', 'only tasks of this run'), mine: flag('--mine', 'only tasks of you and of your roles'), ...paging },
  run: async (context, { run, mine, ...page }) => {
    const filter = { status: 'unfinished', ...(run === undefined ? {} : { runId: run }), ...(mine ? { assignee: 'me' } : {}) } as const
    return context.api.tasks.listTasks({ query: { ...filter, ...page } }, await asUser(context))
  },
  view: ({ tasks: found, nextCursor }, style) =>
    sections(found.length === 0 ? 'No tasks.' : table(style, taskColumns(style), found), nextPage(nextCursor)),
  asUser: true,
  reads: true,
  examples: ['tasks', 'tasks --run run_8x2m --json', 'tasks --mine'],
})
