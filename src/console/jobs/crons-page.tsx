import { useQuery } from '@tanstack/react-query'
import type { CronJob } from '../../core/crons/index.ts'
import { agoColumn, Duration, Empty, ListPage, Status, type TableColumn } from '../kit/index.ts'
import { cronsQuery, runTones } from './crons.ts'
import { words } from './words.ts'

const columns: readonly TableColumn<CronJob>[] = [
  { key: 'job', title: 'Schedule', width: 'minmax(232px, 1fr)', value: ({ jobKey }) => jobKey },
  {
    key: 'last',
    title: 'Last run',
    width: '120px',
    value: ({ lastRun }) => lastRun?.status,
    cell: ({ lastRun }) =>
      lastRun ? <Status tone={runTones[lastRun.status]}>{lastRun.status}</Status> : <span className="dim">never</span>,
  },
  agoColumn(['when', 'When'], ({ lastRun }) => lastRun?.started_at, { none: '' }),
  {
    key: 'duration',
    title: 'Duration',
    width: '90px',
    align: 'right',
    value: ({ lastRun }) => lastRun?.duration_ms,
    cell: ({ lastRun }) => <Duration ms={lastRun?.duration_ms} />,
  },
  agoColumn(['next', 'Next run'], ({ nextRunAt }) => nextRunAt, { none: '–' }),
  { key: 'expression', title: 'Cron (UTC)', width: '120px', value: ({ expression }) => expression },
  { key: 'description', title: 'Description', width: 'minmax(200px, 3fr)', value: ({ description }) => description },
]

export function Page() {
  const crons = useQuery(cronsQuery)
  const failed = crons.data?.crons.filter(({ lastRun }) => lastRun?.status === 'failed').length
  const ran = crons.data?.crons.filter(({ lastRun }) => lastRun).length ?? 0
  return (
    <ListPage
      title={words.crons}
      answer={
        failed !== undefined &&
        (failed === 0 ? (
          <Status tone={ran === 0 ? 'off' : 'ok'}>{words.cronsCalm(ran)}</Status>
        ) : (
          <Status tone="failed">{words.lastFailed(failed)}</Status>
        ))
      }
      query={crons}
      rows={({ crons: rows }) => rows}
      columns={columns}
      rowKey={({ jobKey }) => jobKey}
      rowLink={({ jobKey }) => `/crons/${jobKey}`}
      empty={<Empty title="No schedules" tone="off" />}
    />
  )
}
