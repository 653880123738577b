// `tenantry runs`: search, show, cancel and retry runs of flow boards.
// Operators see states, times and errors, and the content with support access. They never advance a run: users of the tenant do
// (`startable`, `start`, `waiting`, `tasks`, `open`, `advance`).
import { command, count, noun, oneOf, required, text } from '../kit/index.ts'
import { chooseRuns, filterOf } from './choose-runs.ts'
import { startable, tasks, waiting } from './find-work.ts'
import { advance, open, start } from './own-runs.ts'
import { changedView, contentView, historyView, runList, runView } from './runs.view.ts'

const tenant = required(text('--tenant <slug>', 'tenant of the runs'))
const paging = { limit: count('--limit <count>', 'max results'), cursor: text('--cursor <cursor>', 'pagination cursor') }
const search = {
  status: oneOf('--status <status>', 'filter by status', ['running', 'waiting', 'completed', 'failed']),
  board: text('--board <id>', 'only runs of this board'),
  element: text('--element <id>', 'only runs that wait or failed at this element'),
  olderThan: text('--older-than <age>', 'only runs started before: 2h, 3d or 2026-01-05'),
}

const list = command('list', 'Search the runs of a tenant, newest first', {
  options: { tenant, ...search, ...paging },
  run: (context, { tenant: slug, limit, cursor, ...filter }) =>
    context.api.runs.listTenantRuns({ params: { slug }, query: { ...filterOf(context, filter), limit, cursor } }),
  view: runList,
  examples: ['list --tenant anna-schule --status failed', 'list --tenant anna-schule --element principal --older-than 2d'],
})

const show = command('show <run>', 'Show the state of a run', {
  options: { tenant },
  run: ({ api }, { run, tenant: slug }) => api.runs.showTenantRun({ params: { slug, id: run } }),
  view: runView,
})

const read = command('read <run>', 'Read the content of a run (needs support access)', {
  options: { tenant },
  run: ({ api }, { run, tenant: slug }) => api.runs.readTenantRun({ params: { slug, id: run } }),
  view: contentView,
})

const history = command('history <run>', 'List the steps of a run', {
  options: { tenant, ...paging },
  run: ({ api }, { run, tenant: slug, ...query }) => api.runs.tenantRunHistory({ params: { slug, id: run }, query }),
  view: historyView,
})

const cancel = command('cancel [runs...]', 'Cancel runs: their tasks and timers end', {
  options: { tenant, ...search },
  run: async (context, input) => context.api.runs.cancelTenantRuns(await chooseRuns(context, input, 'cancel')),
  view: changedView('cancelled'),
  exit: ({ refused }) => (refused.length > 0 ? 5 : 0),
  examples: ['cancel run_8x2m --tenant anna-schule', 'cancel --tenant anna-schule --older-than 30d --yes'],
})

const retry = command('retry [runs...]', 'Retry failed runs at the element that failed', {
  options: { tenant, ...search, boardVersion: count('--board-version <version>', 'continue with this published version of the board') },
  run: async (context, { boardVersion, ...input }) => {
    const { params, body } = await chooseRuns(context, { ...input, isMoved: boardVersion !== undefined }, 'retry')
    return context.api.runs.retryTenantRuns({ params, body: { ...body, boardVersion } })
  },
  view: changedView('continued'),
  exit: ({ refused }) => (refused.length > 0 ? 5 : 0),
  examples: [
    'retry run_8x2m --tenant anna-schule',
    'retry --tenant anna-schule --element which',
    'retry run_8x2m --tenant anna-schule --board-version 4',
  ],
})

export const runs = noun('runs', 'Manage runs of flow boards', [
  list,
  show,
  read,
  history,
  cancel,
  retry,
  startable,
  start,
  waiting,
  tasks,
  open,
  advance,
])
