import type { ReactNode } from 'react'
import { Empty } from './states.tsx'

/** `isNamed`: a card shows the title before the value, which does not speak for itself. */
type Column<Row> = Readonly<{ title: string; isNamed?: boolean; cell(row: Row): ReactNode }>
type PlainListProps<Row> = Readonly<{
  label: string
  rows: readonly Row[]
  rowKey(row: Row): string
  /** The first one is the title of a card on a phone. */
  columns: readonly Column<Row>[]
  empty: string
}>

/** The head of a plain table; `children` are further cells. */
export const TableHead = ({ titles, children }: Readonly<{ titles: readonly string[]; children?: ReactNode }>) => (
  <thead>
    <tr>
      {titles.map((title) => (
        <th key={title} scope="col">
          {title}
        </th>
      ))}
      {children}
    </tr>
  </thead>
)

/** A list that is read: a table, or on a phone a card for each row. */
export function PlainList<Row>({ label, rows, rowKey, columns, empty }: PlainListProps<Row>) {
  if (rows.length === 0) return <Empty title={empty} tone="off" />
  return (
    <table className="plain-table stack" aria-label={label}>
      <TableHead titles={columns.map(({ title }) => title)} />
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map(({ title, isNamed, cell }) => (
              <td key={title} data-label={isNamed ? title : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
