import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  ChoiceFilter,
  DataTable,
  Loaded,
  PageHeader,
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
    {
      key: 'opened',
      title: 'Opened',
      width: '92px',
      value: ({ createdAt }) => createdAt,
      cell: ({ createdAt }) => <Ago at={createdAt} />,
    },
    {
      key: 'used',
      title: 'Last used',
      width: '92px',
      value: ({ lastUsedAt }) => lastUsedAt,
      cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} none="–" />,
    },
    {
      key: 'expires',
      title: 'Expires',
      width: '92px',
      value: ({ expiresAt }) => expiresAt,
      cell: ({ expiresAt }) => <Ago at={expiresAt} />,
    },
    {
      key: 'end',
      title: 'Action',
      width: '150px',
      sortable: false,
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
    <>
      <PageHeader title={words.title} answer={query.data && words.answer(query.data.sessions.length)} />
      {role === 'admin' && (
        <div className="toolbar">
          <ChoiceFilter label={words.whose} name="whose" none={words.own} choices={[{ value: 'all', label: words.all }]} />
        </div>
      )}
      <Loaded query={query} rows={4}>
        {({ sessions }) => <DataTable label={words.title} columns={columns} rows={sessions} rowKey={({ id }) => id} empty={null} />}
      </Loaded>
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
    </>
  )
}
