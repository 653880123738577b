import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Alert, AlertStatus, TriedChannel } from '../../core/alerts/index.ts'
import { agoColumn, Button, Empty, Link, ListPage, Status, type TableColumn, useMay, useSearchState } from '../kit/index.ts'
import { alertTone } from './alert-tone.ts'
import { alertsQuery, openAlertsQuery } from './queries.ts'
import { TestDialog } from './test-dialog.tsx'
import { words } from './words.ts'

const statuses = ['open', 'acknowledged', 'closed'] as const satisfies readonly AlertStatus[]
const severityRank = { critical: 0, warning: 1, info: 2 } as const

const columns: readonly TableColumn<Alert>[] = [
  {
    key: 'severity',
    title: 'Severity',
    width: '92px',
    value: ({ severity }) => severityRank[severity],
    cell: ({ severity }) => <Status tone={alertTone[severity]}>{severity}</Status>,
  },
  {
    key: 'title',
    narrow: 'title',
    title: 'Alert',
    width: 'minmax(330px, 5fr)',
    value: ({ title }) => title,
    cell: ({ id, title }) => <Link to={`/alerts/${id}`}>{title}</Link>,
  },
  { key: 'subject', title: 'Subject', width: 'minmax(110px, 2fr)', value: ({ subject }) => subject },
  { key: 'status', title: 'Status', width: '96px', value: ({ status }) => status },
  { key: 'count', title: 'Count', width: '60px', align: 'right', value: ({ count }) => count },
  agoColumn(['last', 'Last seen'], ({ lastAt }) => lastAt),
  { key: 'notified', title: 'Notified', width: '110px', value: notifiedText },
]

function notifiedText({ deliveries: { sent, pending, dead } }: Alert): string {
  if (sent + pending + dead === 0) return 'no'
  return [sent > 0 && `${sent} sent`, pending > 0 && `${pending} pending`, dead > 0 && `${dead} failed`].filter(Boolean).join(', ')
}

export function Page() {
  const [{ status }] = useSearchState()
  const chosen = statuses.find((one) => one === status)
  const query = useQuery(alertsQuery(chosen))
  const open = useQuery(openAlertsQuery).data?.alerts.length
  return (
    <ListPage
      title={words.title}
      answer={open !== undefined && words.answer(open)}
      actions={<TestButton />}
      filters={[{ label: words.status, name: 'status', choices: statuses }]}
      query={query}
      rows={({ alerts }) => alerts}
      columns={columns}
      rowKey={({ id }) => String(id)}
      empty={
        <Empty title={words.empty}>
          <p>{words.emptyHint}</p>
        </Empty>
      }
      noMatch={words.noMatch}
      below={({ deadLetters }) => deadLetters.length > 0 && <FailedJobs count={deadLetters.length} />}
    />
  )
}

const FailedJobs = ({ count }: Readonly<{ count: number }>) => (
  <p className="after-table">
    <Status tone="failed">{`${count} ${words.deadJobs.toLowerCase()}`}</Status> <Link to="/jobs?state=dead">Jobs</Link>
  </p>
)

function TestButton() {
  const [asks, setAsks] = useState(false)
  const [tried, setTried] = useState<readonly TriedChannel[]>()
  const { why } = useMay('alerts', 'testAlerts')
  return (
    <>
      {tried?.map(({ channel, target, ok, says }) => (
        <Status key={`${channel} ${target}`} tone={ok ? 'ok' : 'failed'} title={says}>{`${channel} to ${target}`}</Status>
      ))}
      <Link to="/alerts/channels">{words.channels}</Link>
      <Button why={why} onPress={() => setAsks(true)}>
        {words.test}
      </Button>
      {asks && <TestDialog onTried={setTried} onClose={() => setAsks(false)} />}
    </>
  )
}
