import { useInfiniteQuery } from '@tanstack/react-query'
import { Ago, api, Link, Loading, PageHeader, Pages, PlainList } from '../kit/index.ts'
import { SubmissionStatus } from './parts.tsx'

export function Page() {
  const query = useInfiniteQuery({
    queryKey: ['vendor', 'submissions'],
    queryFn: ({ pageParam }) => api.vendor.listVendorSubmissions({ query: { limit: 50, ...(pageParam && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
  const submissions = query.data?.pages.flatMap((page) => page.submissions)
  return (
    <>
      <PageHeader title="Submissions" />
      <Pages query={query}>
        {query.isPending && <Loading />}
        {submissions && (
          <PlainList
            label="Submissions"
            rows={submissions}
            rowKey={({ id }) => id}
            empty="No submission names this address"
            columns={[
              { title: 'Name', cell: ({ id, name }) => <Link to={`/submissions/${id}`}>{name}</Link> },
              { title: 'Version', isNamed: true, cell: ({ version }) => version },
              { title: 'Status', cell: (submission) => <SubmissionStatus submission={submission} /> },
              { title: 'Sent', isNamed: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
            ]}
          />
        )}
      </Pages>
    </>
  )
}
