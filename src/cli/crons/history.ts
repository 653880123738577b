import type { CronRun } from '../../core/crons/index.ts'
import { duration } from '../../core/kit/index.ts'
import { ago, type Column, command, count, type Style, table } from '../kit/index.ts'
import { runTint } from './words.ts'

const columns = ({ now }: Style): Column<CronRun>[] => [
  { title: 'STARTED', value: ({ started_at }) => `${started_at.slice(0, 19).replace('T', ' ')}`, priority: 1 },
  { title: '', value: ({ started_at }) => ago(started_at, now), priority: 3 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: ({ status }) => runTint[status] },
  { title: 'TOOK', value: ({ duration_ms }) => (duration_ms === null ? null : duration(duration_ms)), priority: 2, align: 'right' },
  { title: 'MESSAGE', value: ({ message }) => message, priority: 2, minWidth: 16 },
]

export const history = command(
  'history <job>',
  'Runs of a job, newest first',
  { limit: count('--limit <count>', 'at most so many') },
  ({ api }, { job, limit }) => api.crons.cronHistory({ params: { jobKey: job }, query: limit ? { limit } : {} }),
  ({ runs }, style, { job }) =>
    runs.length === 0 ? `It never ran. Run it now: tenantry crons run ${job}` : table(style, columns(style), runs),
)
