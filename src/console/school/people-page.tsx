import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import type { Person } from '../../core/people/index.ts'
import { api, Empty, Link, Loading, PageHeader, Pages, Status, TableHead, TextFilter, useSearchState } from '../kit/index.ts'
import { SelectFilter, useRoles, useRoleTitles, useSettled } from './parts.tsx'
import { passwordTones, statusTones } from './person-status.ts'
import { useWords } from './words.tsx'

const pageSize = 100
const statuses = ['active', 'disabled', 'erased'] as const

export function Page() {
  const words = useWords().people
  const roles = useRoles()
  const [{ q = '', status, role }] = useSearchState()
  const search = useSettled(q.trim())
  const filter = { ...(search && { search }), ...(status && { status: status as Person['status'] }), ...(role && { role }) }
  const people = useInfiniteQuery({
    queryKey: ['people', 'list', filter],
    queryFn: ({ pageParam }) => api.people.listPeople({ query: { ...filter, limit: pageSize, ...(pageParam && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  })
  const rows = people.data?.pages.flatMap(({ users }) => users) ?? []
  const isFiltered = Object.keys(filter).length > 0
  return (
    <>
      <PageHeader
        title={words.title}
        answer={people.data && `${words.shown(rows.length)}${people.hasNextPage ? ' +' : ''}`}
        actions={
          <>
            <Link to="/people/new" className="button primary">
              {words.add}
            </Link>
            <Link to="/people/import" className="button plain">
              {words.import}
            </Link>
          </>
        }
      />
      <div className="toolbar">
        <TextFilter label={words.search} />
        <SelectFilter name="role" label={words.role} choices={roles.map(({ name, title }) => ({ value: name, label: title }))} />
        <SelectFilter name="status" label={words.status} choices={statuses.map((one) => ({ value: one, label: words.statuses[one] }))} />
      </div>
      <Pages query={people}>
        {people.isPending ? <Loading rows={8} /> : <People rows={rows} empty={isFiltered ? words.noMatch : words.empty} />}
      </Pages>
    </>
  )
}

function People({ rows, empty }: Readonly<{ rows: readonly Person[]; empty: string }>) {
  const words = useWords().people
  const titles = useRoleTitles()
  if (rows.length === 0) return <Empty title={empty} tone="off" />
  return (
    <table className="plain-table stack" aria-label={words.title}>
      <TableHead titles={[words.name, words.username, words.roles, words.status, words.password]} />
      <tbody>
        {rows.map(({ userId, displayName, localpart, roles, status, password }) => (
          <tr key={userId}>
            <td>
              <Link to={`/people/${userId}`}>{displayName ?? localpart}</Link>
            </td>
            <td>{localpart}</td>
            <td>{titles(roles)}</td>
            <td>
              <Status tone={statusTones[status]}>{words.statuses[status]}</Status>
            </td>
            <td>{password !== 'set' && <Status tone={passwordTones[password]}>{words.passwords[password]}</Status>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
