import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  ActionDialog,
  agoColumn,
  api,
  Button,
  ListPage,
  queryClient,
  Status,
  type TableColumn,
  useRole,
  useSearchState,
} from '../kit/index.ts'
import { words } from './words.ts'

type Session = Awaited<ReturnType<typeof api.admin.listSessions>>['sessions'][number]

const sessionsQuery = (all: boolean) =>
  ({ queryKey: ['sessions', all ? 'all' : 'own'], queryFn: () => api.admin.listSessions({ query: { all: String(all) } }) }) as const

export function Page() {
  const role = useRole()
  const [{ whose }] = useSearchState()
  const query = useQuery(sessionsQuery(whose === 'all' && role === 'admin'))
  const [ending, setEnding] = useState<Session>()
  const columns: readonly TableColumn<Session>[] = [
    { key: 'account', title: 'Account', width: 'minmax(120px, 2fr)', value: ({ accountName }) => accountName },
    { key: 'kind', title: 'Kind', width: '116px', value: ({ kind }) => words.kind[kind] },
    { key: 'address', title: 'Address', width: 'minmax(110px, 2fr)', value: ({ address }) => address },
    agoColumn(['opened', 'Opened'], ({ createdAt }) => createdAt),
    agoColumn(['used', 'Last used'], ({ lastUsedAt }) => lastUsedAt, { none: '–' }),
    agoColumn(['expires', 'Expires'], ({ expiresAt }) => expiresAt),
    {
      key: 'end',
      title: 'Action',
      width: '150px',
      sortable: false,
      pinned: true,
      value: () => null,
      cell: (session) => (
        <>
          <Button look="quiet" onPress={() => setEnding(session)} aria-label={`${words.end} ${session.id}`}>
            {words.end}
          </Button>
          {session.current && <Status tone="ok">{words.this}</Status>}
        </>
      ),
    },
  ]
  return (
    <ListPage
      title={words.title}
      answer={query.data && words.answer(query.data.sessions.length)}
      filters={
        role === 'admin' ? [{ label: words.whose, name: 'whose', none: words.own, choices: [{ value: 'all', label: words.all }] }] : []
      }
      query={query}
      rows={({ sessions }) => sessions}
      columns={columns}
      rowKey={({ id }) => id}
      empty={null}
    >
      {ending && (
        <ActionDialog
          title={words.endTitle(ending.accountName)}
          consequence={<p>{ending.current ? words.endOwn : words.endEffect}</p>}
          confirm="End session"
          danger
          run={async () => {
            await api.admin.revokeSession({ params: { id: ending.id } })
            await queryClient.invalidateQueries({ queryKey: ['sessions'] })
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
    </ListPage>
  )
}
