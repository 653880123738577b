import { useInfiniteQuery } from '@tanstack/react-query'
import { api, Link, Loading, PageHeader, Pages, PlainList, Status, type Tone } from '../kit/index.ts'
import { useFormats } from './parts.tsx'
import { useWords } from './words.tsx'

const tones: Readonly<Record<string, Tone>> = { active: 'ok', draft: 'waiting' }

export function Page() {
  const { boards: words } = useWords()
  const { moment } = useFormats()
  const query = useInfiniteQuery({
    queryKey: ['boards'],
    queryFn: ({ pageParam }) => api.boards.listBoards({ query: { limit: 100, ...(pageParam && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
  return (
    <>
      <PageHeader title={words.title} />
      <Pages query={query}>
        {query.isPending ? (
          <Loading rows={6} />
        ) : (
          <PlainList
            label={words.title}
            rows={query.data?.pages.flatMap(({ boards }) => boards) ?? []}
            rowKey={({ id }) => id}
            empty={words.empty}
            columns={[
              { title: words.name, cell: ({ id, name }) => <Link to={`/boards/${id}`}>{name}</Link> },
              {
                title: words.status,
                cell: ({ status }) => <Status tone={tones[status] ?? 'off'}>{words.statuses[status] ?? status}</Status>,
              },
              { title: words.changed, isNamed: true, cell: ({ updatedAt }) => moment(updatedAt) },
            ]}
          />
        )}
      </Pages>
    </>
  )
}
