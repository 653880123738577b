import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { api, Loading, PageHeader, Pages, PlainList, Status, type Tone } from '../kit/index.ts'
import { useFormats } from './parts.tsx'
import { useWords } from './words.tsx'

const tones: Readonly<Record<string, Tone>> = { running: 'working', waiting: 'waiting', completed: 'ok', failed: 'failed' }

/** Runs of a board, without their values. */
export function Page() {
  const { boardId = '' } = useParams({ strict: false }) as { boardId?: string }
  const { boards: words } = useWords()
  const { moment } = useFormats()
  const board = useQuery({ queryKey: ['boards', boardId], queryFn: () => api.boards.showBoard({ params: { id: boardId } }) })
  const query = useInfiniteQuery({
    queryKey: ['runs', boardId],
    queryFn: ({ pageParam }) =>
      api.runs.listRuns({ params: { id: boardId }, query: { limit: 100, ...(pageParam && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
  return (
    <>
      <PageHeader title={board.data ? words.runsOf(board.data.name) : words.runs} />
      <Pages query={query}>
        {query.isPending ? (
          <Loading rows={6} />
        ) : (
          <PlainList
            label={words.runs}
            rows={query.data?.pages.flatMap(({ runs }) => runs) ?? []}
            rowKey={({ id }) => id}
            empty={words.noRuns}
            columns={[
              { title: words.started, cell: ({ startedAt }) => moment(startedAt) },
              {
                title: words.status,
                cell: ({ status }) => <Status tone={tones[status] ?? 'off'}>{words.runStatuses[status] ?? status}</Status>,
              },
              { title: words.ended, isNamed: true, cell: ({ completedAt }) => completedAt && moment(completedAt) },
            ]}
          />
        )}
      </Pages>
    </>
  )
}
