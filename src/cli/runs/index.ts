// `tenantry runs`: search, show, cancel and retry runs of flow boards.
// Operators see states, times and errors, and the content with support access. They never advance a run: users of the tenant do
// (`start`, `open`, `advance`).
import { plural, problem } from '../../core/kit/index.ts'
import { assertConfirmed, type Context, command, count, momentOf, noun, oneOf, required, text } from '../kit/index.ts'
import { advance, open, start } from './own-runs.ts'
import { changedView, contentView, historyView, runList, runView } from './runs.view.ts'

const tenant = required(text('--tenant <slug>', 'tenant of the runs'))
const paging = { limit: count('--limit <count>', 'max results'), cursor: text('--cursor <cursor>', 'pagination cursor') }
const search = {
  status: oneOf('--status <status>', 'filter by status', ['running', 'waiting', 'completed', 'failed']),
  board: text('--board <id>', 'only runs of this board'),
  element: text('--element <id>', 'only runs that wait or failed at this element'),
  olderThan: text('--older-than <age>', 'only runs started before: 2h, 3d or a time'),
}

type Filter = Readonly<{
  status?: 'running' | 'waiting' | 'completed' | 'failed' | undefined
  board?: string | undefined
  element?: string | undefined
  olderThan?: string | undefined
}>

const filterOf = ({ clock }: Pick<Context, 'clock'>, { status, board, element, olderThan }: Filter) => ({
  ...(status === undefined ? {} : { status }),
  ...(board === undefined ? {} : { board }),
  ...(element === undefined ? {} : { element }),
  ...(olderThan === undefined ? {} : { startedBefore: momentOf(olderThan, clock.now(), '--older-than') }),
})

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

type Named = Filter & Readonly<{ runs?: readonly string[]; tenant: string }>

/** Runs named by id, or all that match a filter. Throws USAGE for neither or both. */
async function chosen(context: Context, { runs: ids = [], tenant: slug, ...filter }: Named, verb: string) {
  const body = filterOf(context, filter)
  const hasFilter = Object.keys(body).length > 0
  if (ids.length > 0 === hasFilter) throw problem('USAGE', `pass run ids, or a filter such as --status failed, to ${verb} runs`)
  const which = hasFilter ? 'all runs that match' : plural(ids.length, 'run')
  await assertConfirmed(context.ask, `${verb === 'cancel' ? 'Cancel' : 'Retry'} ${which} of ${slug}?`)
  return { params: { slug }, body: hasFilter ? body : { ids: [...ids] } }
}

const cancel = command('cancel [runs...]', 'Cancel runs: their tasks and timers end', {
  options: { tenant, ...search },
  run: async (context, input) => context.api.runs.cancelTenantRuns(await chosen(context, input, 'cancel')),
  view: changedView('cancelled'),
  exit: ({ refused }) => (refused.length > 0 ? 5 : 0),
  examples: ['cancel run_8x2m --tenant anna-schule', 'cancel --tenant anna-schule --older-than 30d --yes'],
})

const retry = command('retry [runs...]', 'Retry failed runs at the element that failed', {
  options: { tenant, ...search },
  run: async (context, input) => context.api.runs.retryTenantRuns(await chosen(context, input, 'retry')),
  view: changedView('continued'),
  exit: ({ refused }) => (refused.length > 0 ? 5 : 0),
  examples: ['retry run_8x2m --tenant anna-schule', 'retry --tenant anna-schule --element which'],
})

export const runs = noun('runs', 'Manage runs of flow boards', [list, show, read, history, cancel, retry, start, open, advance])
