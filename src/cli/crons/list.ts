import type { CronJob } from '../../core/crons/index.ts'
import { ago, type Column, command, type Style, tableWithText } from '../kit/index.ts'
import { runTint } from './words.ts'

const does: Column<CronJob> = { title: 'WHAT IT DOES', value: ({ description }) => description }

const columns = ({ now }: Style): Column<CronJob>[] => [
  { title: 'JOB', value: ({ jobKey }) => jobKey, priority: 1 },
  { title: 'WHEN (UTC)', value: ({ expression }) => expression, priority: 3 },
  { title: 'NEXT', value: ({ nextRunAt }) => (nextRunAt ? ago(nextRunAt, now) : null), priority: 2 },
  {
    title: 'LAST',
    value: ({ lastRun }) => lastRun && `${lastRun.status} ${ago(lastRun.started_at, now)}`,
    priority: 1,
    paint: ({ lastRun }) => (lastRun ? runTint[lastRun.status] : undefined),
  },
  does,
]

export const list = command(
  'list',
  'The jobs, when they run next, how they last went',
  {},
  ({ api }) => api.crons.listCrons(),
  ({ crons }, style) => (crons.length === 0 ? 'No jobs are registered.' : tableWithText(style, columns(style), does, crons)),
)
