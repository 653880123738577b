import { useQuery } from '@tanstack/react-query'
import type { SubmissionStatus, SubmissionSummary } from '../../core/marketplace/index.ts'
import { agoColumn, api, Empty, ListPage, Status, type TableColumn, useSearchState } from '../kit/index.ts'
import { priceWords, submissionTones } from './queries.ts'
import { Tabs } from './tabs.tsx'
import { words } from './words.ts'

const columns: readonly TableColumn<SubmissionSummary>[] = [
  { key: 'name', title: 'Name', width: 'minmax(180px, 2fr)', value: ({ name }) => name },
  { key: 'type', title: 'Type', width: '70px', value: ({ itemType }) => itemType },
  {
    key: 'status',
    title: 'Status',
    width: '140px',
    value: ({ status }) => status,
    cell: ({ status }) => <Status tone={submissionTones[status]}>{status.replaceAll('-', ' ')}</Status>,
  },
  { key: 'version', title: 'Version', width: '80px', value: ({ version }) => version },
  { key: 'price', title: 'Price', width: 'minmax(140px, 1fr)', value: (one) => priceWords(one) },
  { key: 'vendor', title: 'Vendor', width: 'minmax(140px, 1fr)', value: ({ vendorName }) => vendorName },
  { key: 'proven', title: 'Address', width: '150px', value: ({ proven }) => (proven ? words.proven : words.unproven) },
  agoColumn(['created', 'Submitted'], ({ createdAt }) => createdAt),
]

const statuses = Object.keys(submissionTones).map((value) => ({ value, label: value.replaceAll('-', ' ') }))

export function Page() {
  const [{ status }] = useSearchState()
  const submissions = useQuery({
    queryKey: ['marketplace', 'submissions', status ?? ''],
    queryFn: () =>
      api.marketplace.listMarketplaceSubmissions({ query: { limit: 200, ...(status ? { status: status as SubmissionStatus } : {}) } }),
  })
  const waiting = submissions.data?.submissions.filter((one) => one.status === 'pending').length ?? 0
  return (
    <ListPage
      title={words.submissions}
      answer={waiting > 0 && <Status tone="waiting">{words.waiting(waiting)}</Status>}
      above={<Tabs current="submissions" />}
      filters={[{ label: 'Status', name: 'status', choices: statuses }]}
      query={submissions}
      rows={({ submissions: rows }) => rows}
      columns={columns}
      rowKey={({ id }) => id}
      rowLink={({ id }) => `/marketplace/submissions/${id}`}
      empty={<Empty title={words.noSubmissions} tone="off" />}
      reserve={240}
    />
  )
}
