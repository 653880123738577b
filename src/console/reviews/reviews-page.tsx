import { useQuery } from '@tanstack/react-query'
import { agoColumn, api, Empty, ListPage, Status, type TableColumn } from '../kit/index.ts'
import { words } from './words.ts'

type Review = Awaited<ReturnType<typeof api.store.listReviews>>['reviews'][number]

const columns: readonly TableColumn<Review>[] = [
  { key: 'module', title: 'Module', width: 'minmax(160px, 2fr)', value: ({ moduleId }) => moduleId },
  { key: 'version', title: 'Version', width: '90px', value: ({ version }) => version },
  {
    key: 'test',
    title: 'Test',
    width: '90px',
    value: ({ test }) => (test.ok ? 'OK' : 'failed'),
    cell: ({ test }) => <Status tone={test.ok ? 'ok' : 'failed'}>{test.ok ? 'OK' : 'failed'}</Status>,
  },
  { key: 'warnings', title: 'Warnings', width: '90px', align: 'right', value: ({ warnings }) => warnings.length },
  { key: 'developer', title: 'Developer', width: 'minmax(140px, 2fr)', value: ({ developer }) => developer.name },
  { key: 'verified', title: 'Verified', width: '90px', value: ({ developer }) => (developer.verified ? 'yes' : 'no') },
  agoColumn(['created', 'Submitted'], ({ createdAt }) => createdAt),
]

export function Page() {
  const reviews = useQuery({ queryKey: ['reviews', 'list'], queryFn: () => api.store.listReviews({ query: { limit: 100 } }) })
  const count = reviews.data?.reviews.length ?? 0
  return (
    <ListPage
      title={words.title}
      answer={count > 0 && <Status tone="waiting">{words.waiting(count, reviews.data?.nextCursor !== null)}</Status>}
      query={reviews}
      rows={({ reviews: rows }) => rows}
      columns={columns}
      rowKey={({ submissionId }) => submissionId}
      rowLink={({ submissionId }) => `/reviews/${submissionId}`}
      empty={<Empty title={words.none} />}
    />
  )
}
