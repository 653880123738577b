import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { RecordEntry } from '../../core/audit/index.ts'
import { api, Button, DayFilter, Empty, Loading, PageHeader, Pages, startOfDay, TableHead, useSearchState } from '../kit/index.ts'
import { SelectFilter, useFormats, useRoleTitles } from './parts.tsx'
import { useSession } from './queries.ts'
import { useWords } from './words.tsx'

const pageSize = 100

export function Page() {
  const { record: words } = useWords()
  const [{ from, to, action, userId }] = useSearchState()
  const [since, until] = [startOfDay(from), startOfDay(to, { after: 1 })]
  const filter = { ...(since && { from: since }), ...(until && { to: until }), ...(action && { action }), ...(userId && { userId }) }
  const record = useInfiniteQuery({
    queryKey: ['record', filter],
    queryFn: ({ pageParam }) =>
      api.audit.listOwnAudit({ query: { ...filter, limit: pageSize, ...(pageParam && { cursor: pageParam }) } as never }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
  const entries = record.data?.pages.flatMap((page) => page.entries) ?? []
  const actions = Object.entries(words.actions).map(([value, label]) => ({ value, label }))
  return (
    <>
      <PageHeader title={words.title} answer={words.answer} />
      <div className="toolbar">
        <DayFilter label={words.from} name="from" />
        <DayFilter label={words.to} name="to" />
        <SelectFilter name="action" label={words.action} choices={actions.sort((one, other) => one.label.localeCompare(other.label))} />
      </div>
      {userId && <OnlyPerson userId={userId} />}
      <Pages query={record}>{record.isPending ? <Loading rows={8} /> : <Entries entries={entries} />}</Pages>
    </>
  )
}

function OnlyPerson({ userId }: Readonly<{ userId: string }>) {
  const { record: words } = useWords()
  const { capabilities } = useSession()
  const [, change] = useSearchState()
  const { data } = useQuery({
    queryKey: ['people', 'one', userId],
    queryFn: () => api.people.showPerson({ params: { userId } }),
    enabled: capabilities.includes('manageUsers'),
  })
  return (
    <p className="note">
      <span>{data ? (data.displayName ?? data.localpart) : words.onlyPerson}</span>
      <Button onPress={() => change({ userId: undefined })}>{words.showAll}</Button>
    </p>
  )
}

function Entries({ entries }: Readonly<{ entries: readonly RecordEntry[] }>) {
  const { record: words } = useWords()
  const { moment } = useFormats()
  if (entries.length === 0) return <Empty title={words.empty} tone="off" />
  return (
    <table className="plain-table stack record" aria-label={words.title}>
      <TableHead titles={[words.what, words.about, words.who, words.when, words.details]} />
      <tbody>
        {entries.map(({ id, at, actor, action, user, details }) => (
          <tr key={id}>
            <td>{words.actions[action] ?? action}</td>
            <td data-label={words.about}>{user}</td>
            <td data-label={words.who}>{actor.matrixUserId ?? words.actors[actor.kind]}</td>
            <td>
              <time dateTime={at}>{moment(at)}</time>
            </td>
            <td>
              <Details details={details} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const isTime = (value: unknown): value is string => typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)

function Details({ details }: Readonly<{ details: RecordEntry['details'] }>) {
  const { record: words } = useWords()
  const { moment } = useFormats()
  const titles = useRoleTitles()
  const textOf = (value: unknown): string => {
    if (value === true || value === false) return value ? words.yes : words.no
    if (isTime(value)) return moment(value)
    if (Array.isArray(value)) return titles(value.map(String))
    if (value === null) return '–'
    if (typeof value === 'object') return textsOf(Object.entries(value)).join(', ')
    return words.values[String(value)] ?? String(value)
  }
  const textsOf = (some: readonly [string, unknown][]) => some.map(([field, value]) => `${words.fields[field] ?? field}: ${textOf(value)}`)
  const shown = Object.entries(details).filter(([, value]) => value !== null && value !== '')
  return <>{textsOf(shown).join('; ')}</>
}
