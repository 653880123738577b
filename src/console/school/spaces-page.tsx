import { useInfiniteQuery } from '@tanstack/react-query'
import { api, Loading, PageHeader, Pages, PlainList, Status } from '../kit/index.ts'
import { useWords } from './words.tsx'

export function Page() {
  const { spaces: words } = useWords()
  const query = useInfiniteQuery({
    queryKey: ['spaces'],
    queryFn: ({ pageParam }) => api.spaces.listSpaces({ query: { limit: 100, ...(pageParam && { cursor: pageParam }) } }),
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
            rows={query.data?.pages.flatMap(({ spaces }) => spaces) ?? []}
            rowKey={({ id }) => id}
            empty={words.empty}
            columns={[
              { title: words.name, cell: ({ name }) => name },
              { title: words.type, cell: ({ type }) => words.types[type] ?? type },
              { title: words.visibility, cell: ({ visibility }) => words.visibilities[visibility] ?? visibility },
              {
                title: words.chat,
                cell: ({ chat: { status } }) => <Status tone={status === 'ready' ? 'ok' : 'working'}>{words.chats[status]}</Status>,
              },
            ]}
          />
        )}
      </Pages>
    </>
  )
}
