import { Button } from './controls.tsx'
import { Status, type Tone } from './status.tsx'
import type { TableColumn } from './table-column.ts'
import { Ago } from './time.tsx'

type AgoOptions = Readonly<{ width?: string; none?: string }>

/** A time as `3 min ago`, sorted by the time itself. */
export const agoColumn = <Row,>(
  [key, title]: readonly [key: string, title: string],
  at: (row: Row) => string | null | undefined,
  { width = '96px', none }: AgoOptions = {},
): TableColumn<Row> => ({ key, title, width, value: at, cell: (row) => <Ago at={at(row)} {...(none === undefined ? {} : { none })} /> })

type StatusOptions<Value extends string> = Readonly<{ key?: string; title?: string; width?: string; word?(status: Value): string }>

/** A status with the icon of its tone. */
export const statusColumn = <Row, Value extends string>(
  status: (row: Row) => Value,
  tones: Readonly<Record<Value, Tone>>,
  { key = 'status', title = 'Status', width = '110px', word = (one) => one }: StatusOptions<Value> = {},
): TableColumn<Row> => ({
  ...{ key, title, width, value: status },
  cell: (row) => <Status tone={tones[status(row)]}>{word(status(row))}</Status>,
})

/** One button for each row; `why`: it may not be pressed. */
export const actionColumn = <Row,>(
  verb: (row: Row) => string,
  name: (row: Row) => string,
  { why, press, width = '96px' }: Readonly<{ why?: string | undefined; press(row: Row): void; width?: string }>,
): TableColumn<Row> => ({
  ...{ key: 'action', title: 'Action', width, sortable: false, pinned: true, value: () => null },
  cell: (row) => (
    <Button look="quiet" why={why} onPress={() => press(row)} aria-label={`${verb(row)} ${name(row)}`}>
      {verb(row)}…
    </Button>
  ),
})
