import { useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  type MouseEvent,
  memo,
  type ReactNode,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from 'react'
import { parseSearch, useSearchState } from './search-state.ts'
import { inOrder, type TableColumn } from './table-column.ts'
import { useTableKeys } from './table-keys.ts'
import { Checkbox, SelectAll, type Selection, withKey } from './table-selection.tsx'

type DataTableProps<Row> = Readonly<{
  label: string
  columns: readonly TableColumn<Row>[]
  rows: readonly Row[]
  rowKey(row: Row): string
  /** The page of a row; its first cell is the link. */
  rowLink?(row: Row): string
  empty: ReactNode
  selection?: Selection
  /** Space that the rest of the page needs above and below, in px. */
  reserve?: number
}>

const rowHeight = 32
const cardHeight = 76
/** On a phone the list fills the screen once it is scrolled to. */
const cardReserve = 96
const rowsOutside = 8

/** A table of any length: rows outside of the window are not in the page. The order is in the address, as `sort=host` or `sort=-host`. */
export function DataTable<Row>({ label, columns, rows, rowKey, rowLink, empty, selection, reserve = 190 }: DataTableProps<Row>) {
  const [{ sort }, change] = useSearchState()
  const navigate = useNavigate()
  const isNarrow = useIsNarrow()
  const sorted = useMemo(() => inOrder(rows, columns, sort), [rows, columns, sort])
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? cardHeight : rowHeight),
    overscan: rowsOutside,
    useFlushSync: false,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows become cards, or cards rows
  useLayoutEffect(() => virtual.measure(), [isNarrow])
  const tracks = [...(selection ? ['28px'] : []), ...columns.map(({ width }) => width)]
  const style = {
    '--tracks': tracks.join(' '),
    '--least': `${leastWidth(tracks)}px`,
    maxHeight: `max(240px, calc(100dvh - ${isNarrow ? cardReserve : reserve}px))`,
  } as CSSProperties
  const latest = useRef(selection)
  latest.current = selection
  const select = useCallback((key: string, on: boolean) => latest.current?.onChange(withKey(latest.current.selected, key, on)), [])
  useTableKeys(scroller, { count: sorted.length, scrollTo: (to) => virtual.scrollToIndex(to) })
  if (rows.length === 0) return <>{empty}</>
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: it follows the links of rows, which Enter clicks
    <div
      className="table"
      ref={scroller}
      style={style}
      role="table"
      aria-label={label}
      aria-rowcount={sorted.length + 1}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      onClick={(event) => follow(event, navigate)}
    >
      <div role="rowgroup" className="table-head">
        <div role="row" aria-rowindex={1} className="table-row">
          {selection && (
            <div role="columnheader">
              <SelectAll {...selection} keys={sorted.map(rowKey)} />
            </div>
          )}
          {columns.map((column) => (
            <HeaderCell
              key={column.key}
              column={column}
              className={cellClass(column, columns)}
              sort={sort}
              onSort={(next) => change({ sort: next })}
            />
          ))}
        </div>
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = sorted[index] as Row
          const key = rowKey(row)
          return (
            <BodyRow
              {...{ key, index, start, columns, row }}
              name={key}
              href={rowLink && hrefOf(rowLink(row))}
              isSelected={selection?.selected.has(key)}
              onSelect={selection && select}
              measure={isNarrow ? virtual.measureElement : undefined}
            />
          )
        })}
      </div>
    </div>
  )
}

type BodyRowProps<Row> = Readonly<{
  index: number
  start: number
  name: string
  row: Row
  columns: readonly TableColumn<Row>[]
  href: string | undefined
  isSelected: boolean | undefined
  onSelect: ((key: string, on: boolean) => void) | undefined
  /** Cards differ in height. */
  measure: ((row: HTMLElement | null) => void) | undefined
}>

/** Rendered again only when its own data change: scrolling moves the others. */
const BodyRow = memo(function BodyRow<Row>({
  index,
  start,
  name,
  row,
  columns,
  href,
  isSelected = false,
  onSelect,
  measure,
}: BodyRowProps<Row>) {
  return (
    <div
      role="row"
      ref={measure}
      aria-rowindex={index + 2}
      data-index={index}
      tabIndex={-1}
      className={`table-row body-row${isSelected ? ' selected' : ''}`}
      style={{ transform: `translateY(${start}px)` }}
    >
      {onSelect && (
        <div role="cell" className="card-check">
          <Checkbox label={`Select ${name}`} isSelected={isSelected} onChange={(on) => onSelect(name, on)} />
        </div>
      )}
      {columns.map((column, at) => (
        <div key={column.key} role="cell" className={cellClass(column, columns)} data-label={column.title}>
          {at === 0 && href !== undefined ? <a href={href}>{contentOf(column, row)}</a> : contentOf(column, row)}
        </div>
      ))}
    </div>
  )
}) as <Row>(props: BodyRowProps<Row>) => ReactNode

const base = '/console'
const hrefOf = (to: string) => `${base}${to}`

/** Links of rows are plain, because thousands pass by while the table scrolls; a plain click stays in the page. */
function follow(event: MouseEvent, navigate: ReturnType<typeof useNavigate>): void {
  const href = (event.target as HTMLElement).closest('a')?.getAttribute('href')
  if (
    event.defaultPrevented ||
    !href?.startsWith(`${base}/`) ||
    event.button !== 0 ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    event.altKey
  )
    return
  event.preventDefault()
  const [to = '/', query = ''] = href.slice(base.length).split('?', 2)
  void navigate({ to, search: parseSearch(query) as never })
}

const columnGap = 8

/** Rows are grids of their own: all have this width at least, whatever is in their cells. */
const leastWidth = (tracks: readonly string[]) => tracks.reduce((sum, track) => sum + Number(/\d+/.exec(track)?.[0] ?? 0) + columnGap, 0)

const cellClass = <Row,>(column: TableColumn<Row>, columns: readonly TableColumn<Row>[]): string => {
  const title = columns.find(({ narrow }) => narrow === 'title') ?? columns[0]
  const place = column === title ? 'card-title' : column.narrow === 'hidden' ? 'card-hidden' : ''
  return [column.pinned ? 'pinned' : column.align, place].filter(Boolean).join(' ')
}

const contentOf = <Row,>({ cell, value }: TableColumn<Row>, row: Row): ReactNode => {
  if (cell) return cell(row)
  const text = value(row)
  return text === null || text === undefined || text === '' ? <span className="dim nothing">–</span> : text
}

function HeaderCell<Row>({
  column,
  className,
  sort,
  onSort,
}: Readonly<{ column: TableColumn<Row>; className: string; sort: string | undefined; onSort(next: string): void }>) {
  const { key, title, sortable = true } = column
  const direction = sort === key ? 'ascending' : sort === `-${key}` ? 'descending' : undefined
  if (!sortable)
    return (
      <div role="columnheader" className={className}>
        {title}
      </div>
    )
  return (
    <div role="columnheader" className={className} aria-sort={direction ?? 'none'}>
      <button type="button" className="sort" onClick={() => onSort(direction === 'ascending' ? `-${key}` : key)}>
        {title}
        <span aria-hidden="true">{direction === 'ascending' ? '↑' : direction === 'descending' ? '↓' : ''}</span>
      </button>
    </div>
  )
}

/** The width of a phone, as in `styles/narrow.css`. */
const narrow = globalThis.matchMedia?.('(max-width: 760px)')

const useIsNarrow = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      narrow?.addEventListener('change', listener)
      return () => narrow?.removeEventListener('change', listener)
    },
    () => narrow?.matches ?? false,
  )
