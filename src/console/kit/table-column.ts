import type { ReactNode } from 'react'

export type TableColumn<Row> = Readonly<{
  key: string
  title: string
  /** A track of the grid: `minmax(160px, 2fr)`, `96px`. Widths are reserved, so nothing jumps. */
  width: string
  /** The sort value; also shown, without `cell`. */
  value(row: Row): string | number | null | undefined
  cell?(row: Row): ReactNode
  align?: 'right'
  /** On a phone a row is a card: its title (else the first column), and the others as facts below. `hidden`: not on the card. */
  narrow?: 'title' | 'hidden'
  /** Stays in view at the right edge while the table scrolls sideways: buttons. */
  pinned?: true
  /** False where an order means nothing. */
  sortable?: boolean
}>

/** The rows in the order of the address: `host`, or `-host` for the reverse. */
export function inOrder<Row>(rows: readonly Row[], columns: readonly TableColumn<Row>[], sort: string | undefined): readonly Row[] {
  const column = columns.find(({ key }) => key === sort?.replace(/^-/, ''))
  if (!column) return rows
  const down = sort?.startsWith('-') ? -1 : 1
  const compare = new Intl.Collator('en', { numeric: true }).compare
  const sortValue = (row: Row) => column.value(row) ?? ''
  return rows
    .map((row) => ({ row, value: sortValue(row) }))
    .sort(({ value: a }, { value: b }) => down * (typeof a === 'number' && typeof b === 'number' ? a - b : compare(String(a), String(b))))
    .map(({ row }) => row)
}
