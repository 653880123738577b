// `tenantry crons`: lists scheduled jobs and their runs, and runs one now.
// It schedules nothing: the daemon does.
import type { CronJob, CronRun } from '../../core/crons/index.ts'
import { duration } from '../../core/kit/index.ts'
import { ago, type Column, clean, command, count, noun, type Paint, type Style, table, tableWithText } from '../kit/index.ts'

const runTint = {
  running: 'cyan',
  succeeded: 'green',
  failed: 'red',
  missed: 'yellow',
  skipped: 'yellow',
} as const satisfies Record<CronRun['status'], keyof Paint>

const description: Column<CronJob> = { title: 'DESCRIPTION', value: (job) => job.description }

const jobColumns = ({ now }: Style): Column<CronJob>[] => [
  { title: 'JOB', value: ({ jobKey }) => jobKey, priority: 1 },
  { title: 'SCHEDULE (UTC)', value: ({ expression }) => expression, priority: 3 },
  { title: 'NEXT RUN', value: ({ nextRunAt }) => (nextRunAt ? ago(nextRunAt, now) : null), priority: 2 },
  {
    title: 'LAST RUN',
    value: ({ lastRun }) => lastRun && `${lastRun.status} ${ago(lastRun.started_at, now)}`,
    priority: 1,
    paint: ({ lastRun }) => (lastRun ? runTint[lastRun.status] : undefined),
  },
  description,
]

const list = command('list', 'List scheduled jobs with their next and last run', {
  run: ({ api }) => api.crons.listCrons(),
  view: ({ crons: jobs }, style) =>
    jobs.length === 0 ? 'No jobs.' : tableWithText(style, { columns: jobColumns(style), text: description }, jobs),
})

const run = command('run <job>', 'Run a job now and wait for it', {
  run: async ({ api, progress }, { job }) => {
    const running = await progress(`running job ${job}`)
    try {
      return await api.crons.triggerCron({ params: { jobKey: job } })
    } finally {
      running.stop()
    }
  },
  view: ({ success, message }, { paint }) => `${success ? paint.green('succeeded:') : paint.red('failed:')} ${clean(message)}`,
  exit: ({ success }) => (success ? 0 : 1),
})

const runColumns = ({ now }: Style): Column<CronRun>[] => [
  { title: 'STARTED', value: ({ started_at }) => `${started_at.slice(0, 19).replace('T', ' ')}`, priority: 1 },
  { title: 'AGE', value: ({ started_at }) => ago(started_at, now), priority: 3 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: ({ status }) => runTint[status] },
  { title: 'DURATION', value: ({ duration_ms }) => (duration_ms === null ? null : duration(duration_ms)), priority: 2, align: 'right' },
  { title: 'MESSAGE', value: ({ message }) => message, priority: 2, minWidth: 16 },
]

const history = command('history <job>', 'List the runs of a job, newest first', {
  options: { limit: count('--limit <count>', 'max results') },
  run: ({ api }, { job, limit }) => api.crons.cronHistory({ params: { jobKey: job }, query: limit ? { limit } : {} }),
  view: ({ runs }, style, { job }) =>
    runs.length === 0 ? `No runs. Run it now: tenantry crons run ${job}` : table(style, runColumns(style), runs),
})

export const crons = noun('crons', 'Scheduled jobs', [list, run, history])
