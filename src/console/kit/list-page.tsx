import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from './controls.tsx'
import { DataTable } from './data-table.tsx'
import { type Choice, ChoiceFilter, TextFilter } from './filters.tsx'
import { PageHeader } from './layout.tsx'
import { type SearchState, useSearchState } from './search-state.ts'
import { Empty, Loaded } from './states.tsx'
import type { TableColumn } from './table-column.ts'

/** By text, which is in the address as `q`, or by one value, which is there under `name`. Without `of` the daemon filters. */
type Filter<Row> =
  | Readonly<{ text: string; of?(row: Row): string }>
  | Readonly<{ label: string; name: string; choices: readonly (string | Choice)[]; of?(row: Row): string | undefined; none?: string }>

type ListPageProps<Data, Row> = Readonly<{
  title: string
  /** The name of the table, where it is not the title. */
  label?: string
  answer?: ReactNode
  actions?: ReactNode
  /** Between the title and the filters: tabs, or what was just started. */
  above?: ReactNode
  filters?: readonly Filter<Row>[]
  query: UseQueryResult<Data>
  rows(data: Data): readonly Row[]
  columns: readonly TableColumn<Row>[]
  rowKey(row: Row): string
  rowLink?(row: Row): string
  /** Where there is nothing at all; a filter that nothing matches says so by itself. */
  empty: ReactNode
  noMatch?: string
  /** The cursor of the next page, where the list has more pages. */
  next?(data: Data): string | null
  below?(data: Data): ReactNode
  /** Space that the page needs above and below the table, in px. */
  reserve?: number
  /** Dialogs. */
  children?: ReactNode
}>

/** A page with one list: its answer, its filters in the address, its table, and its three ways to be empty. */
export function ListPage<Data, Row>(props: ListPageProps<Data, Row>) {
  const { title, label = title, answer, actions, above, filters = [], query, below, next, children } = props
  const [search, change] = useSearchState()
  const names = [...filters.map(nameOf), 'cursor']
  const isFiltered = names.some((name) => search[name])
  const clear = () => change(Object.fromEntries(names.map((name) => [name, undefined])))
  return (
    <>
      <PageHeader title={title} answer={answer} actions={actions} />
      {above}
      {filters.length > 0 && <div className="toolbar">{filters.map(filterField)}</div>}
      <Loaded query={query} rows={8}>
        {(data) => (
          <>
            <DataTable
              {...props}
              label={label}
              rows={props.rows(data).filter((row) => filters.every((filter) => matches(filter, row, search)))}
              empty={isFiltered ? <NoMatch title={props.noMatch} onClear={clear} /> : props.empty}
            />
            {next?.(data) && (
              <p className="after-table">
                <Button onPress={() => change({ cursor: next(data) ?? undefined })}>Older</Button>
              </p>
            )}
            {below
              ? below(data)
              : !next && isCut(data) && <p className="dim">{`The first ${props.rows(data).length} are shown; there are more.`}</p>}
          </>
        )}
      </Loaded>
      {children}
    </>
  )
}

/** A page of a longer list whose other pages are not shown: a list must not end without a word. */
const isCut = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && 'nextCursor' in data && typeof data.nextCursor === 'string'

const nameOf = <Row,>(filter: Filter<Row>): string => ('text' in filter ? 'q' : filter.name)

function filterField<Row>(filter: Filter<Row>): ReactNode {
  if ('text' in filter) return <TextFilter key="q" label={filter.text} />
  const { choices, name, label, none } = filter
  return (
    <ChoiceFilter
      key={name}
      {...{ name, label, ...(none ? { none } : {}) }}
      choices={choices.map((choice) => (typeof choice === 'string' ? { value: choice, label: choice } : choice))}
    />
  )
}

function matches<Row>(filter: Filter<Row>, row: Row, search: SearchState): boolean {
  const asked = search[nameOf(filter)]?.trim()
  if (!asked || !filter.of) return true
  return 'text' in filter ? filter.of(row).toLowerCase().includes(asked.toLowerCase()) : filter.of(row) === asked
}

const NoMatch = ({ title = 'Nothing matches the filter', onClear }: Readonly<{ title: string | undefined; onClear(): void }>) => (
  <Empty title={title} tone="off">
    <Button onPress={onClear}>Clear the filter</Button>
  </Empty>
)
