import { displayWidth, fold, printable, problem } from '../../core/kit/index.ts'
import { clean } from './fields.ts'
import { type Paint, padEnd, padStart, type Style, shorten } from './style.ts'

/** A column of a table. */
export type Column<Row> = Readonly<{
  title: string
  value: (row: Row) => string | number | null | undefined
  /** 1 is never dropped; on a narrow terminal the highest number is dropped first, 4 and 5 before any column is cut. Default 2. */
  priority?: 1 | 2 | 3 | 4 | 5
  /** The column may be cut to this width before another column is dropped. */
  minWidth?: number
  /** Numbers are right-aligned. */
  align?: 'right'
  paint?: (row: Row) => keyof Paint | undefined
}>

const gap = 2

type Drawn<Row> = Readonly<{ column: Column<Row>; cells: readonly string[]; width: number }>

/**
 * Rows as text that fits the terminal: long texts are cut first, then columns of low priority are dropped.
 * Removes control characters of foreign text.
 */
export function table<Row>(style: Style, columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const { width, paint, allColumns, quiet } = style
  const [name] = columns
  if (quiet && name) return rows.map((row) => cellText(name.value(row))).join('\n')
  const drawn = chosen(style, columns).map((column) => draw(column, rows))
  const fitted = fitTo(allColumns || style.columns ? drawn : drawn.filter(hasContent), width)
  const line = (cellOf: (drawn: Drawn<Row>, last: boolean) => string) =>
    fitted
      .map((drawn, index) => cellOf(drawn, index === fitted.length - 1))
      .join(' '.repeat(gap))
      .trimEnd()
  const head = line(({ column, width }, last) => paint.dim(place(column, column.title, { width, last })))
  const body = rows.map((row, index) => line((drawn, last) => paintedCell(drawn, { row, index, last }, paint)))
  return [head, ...body, ...leftOut(drawn, fitted, style)].join('\n')
}

/** Names the columns that a narrow terminal has no room for: what is not shown may be what matters. */
function leftOut<Row>(drawn: readonly Drawn<Row>[], fitted: readonly Drawn<Row>[], { paint, width }: Style): readonly string[] {
  const shown = new Set(fitted.map(({ column }) => column))
  const titles = drawn
    .filter((one) => !shown.has(one.column) && priorityOf(one) < extra && hasContent(one))
    .map(({ column }) => column.title)
  return titles.length === 0 ? [] : [paint.dim(fold(`Not shown: ${titles.join(', ')} (-o wide)`, width))]
}

/** The columns of `--columns`, in that order. Throws USAGE for a title that the table does not have. */
function chosen<Row>({ columns: titles }: Style, columns: readonly Column<Row>[]): readonly Column<Row>[] {
  return titles === undefined
    ? columns
    : titles.map((requested) => {
        const found = columns.find(({ title }) => title === requested)
        if (found) return found
        const known = columns.map(({ title }) => title.toLowerCase().replaceAll(' ', '-')).join(', ')
        throw problem('USAGE', `the table has no column ${requested.toLowerCase()}. fix: use some of ${known}`)
      })
}

function draw<Row>(column: Column<Row>, rows: readonly Row[]): Drawn<Row> {
  const cells = rows.map((row) => cellText(column.value(row)))
  return { column, cells, width: Math.max(displayWidth(column.title), ...cells.map(displayWidth)) }
}

const cellText = (value: string | number | null | undefined): string =>
  value === null || value === undefined || value === '' ? '-' : printable(String(value)).replace(/\s*\n\s*/g, ' ')

/** A column that is empty in every row is left out, unless its priority is 1. */
const hasContent = <Row>({ column, cells }: Drawn<Row>) => (column.priority ?? 2) === 1 || cells.some((cell) => cell !== '-')

/** Columns from this priority on are dropped before any column is cut. */
const extra = 4

function fitTo<Row>(drawn: readonly Drawn<Row>[], width: number): readonly Drawn<Row>[] {
  const tooWide = totalWidth(drawn) - width
  if (tooWide <= 0) return drawn
  const last = drawn.reduce((lowest, one) => (priorityOf(one) >= priorityOf(lowest) ? one : lowest))
  const withoutLast = drawn.filter((one) => one !== last)
  if (priorityOf(last) >= extra) return fitTo(withoutLast, width)
  const mayGo = priorityOf(last) > 1 && drawn.length > 1
  const shrunk = shrink(drawn, tooWide, mayGo ? usualName : 1)
  if (totalWidth(shrunk) <= width) return shrunk
  return mayGo ? fitTo(withoutLast, width) : squeeze(shrunk, width)
}

const priorityOf = ({ column }: Drawn<never>) => column.priority ?? 2

const totalWidth = (drawn: readonly Drawn<never>[]) => drawn.reduce((sum, one) => sum + one.width, gap * Math.max(0, drawn.length - 1))

/** Cuts columns, the widest first; the first column, which names the row, only after all others are at their minimum. */
function shrink<Row>(drawn: readonly Drawn<Row>[], by: number, minNameWidth = 1): readonly Drawn<Row>[] {
  const widths = new Map(drawn.map((one) => [one, one.width]))
  const widthOf = (one: Drawn<Row>) => widths.get(one) as number
  const minOf = (one: Drawn<Row>) => (one === drawn[0] ? Math.max(minWidthOf(one), minNameWidth) : minWidthOf(one))
  for (let left = by; left > 0; left--) {
    const cuttable = drawn.filter((one) => widthOf(one) > minOf(one))
    const [widest] = [...cuttable.filter((one) => one !== drawn[0]).sort((a, b) => widthOf(b) - widthOf(a)), ...cuttable.slice(0, 1)]
    if (!widest) break
    widths.set(widest, widthOf(widest) - 1)
  }
  return drawn.map((one) => ({ ...one, width: widthOf(one) }))
}

const minWidthOf = ({ column, width }: Drawn<never>) => (column.minWidth === undefined ? width : Math.max(column.minWidth, 1))

/** Names are typed in the next command: one of usual length stays whole while another column can be dropped instead. */
const usualName = 20

/** The last resort: cuts every column but the first. */
function squeeze<Row>(drawn: readonly Drawn<Row>[], width: number): readonly Drawn<Row>[] {
  const cuttable = drawn.map((one, index) => (index === 0 ? one : { ...one, column: { ...one.column, minWidth: 3 } }))
  return shrink(cuttable, totalWidth(drawn) - width)
}

const place = (column: Column<never>, text: string, { width, last }: Readonly<{ width: number; last: boolean }>) => {
  const fitting = shorten(text, width)
  if (column.align === 'right') return padStart(fitting, width)
  return last ? fitting : padEnd(fitting, width)
}

type Cell<Row> = Readonly<{ row: Row; index: number; last: boolean }>

function paintedCell<Row>({ column, cells, width }: Drawn<Row>, { row, index, last }: Cell<Row>, paint: Paint): string {
  const placed = place(column as Column<never>, cells[index] as string, { width, last })
  const tint = cells[index] === '-' ? 'dim' : column.paint?.(row)
  return tint ? paint[tint](placed) : placed
}

/** A table with one text column that is never cut: on a narrow terminal the text goes below its row. */
export function tableWithText<Row>(
  style: Style,
  { columns, text }: Readonly<{ columns: readonly Column<Row>[]; text: Column<Row> }>,
  rows: readonly Row[],
): string {
  if (style.quiet || style.columns) return table(style, columns, rows)
  const whole = table({ ...style, width: Number.POSITIVE_INFINITY }, columns, rows)
  if (fold(whole, style.width) === whole) return whole
  const others = columns.filter((column) => column !== text)
  const [head = '', ...lines] = table(style, others, rows).split('\n')
  const below = (row: Row) => (text.value(row) ? [fold(`    ${clean(text.value(row))}`, style.width)] : [])
  return [head, ...rows.flatMap((row, index) => [lines[index] ?? '', ...below(row)]), ...lines.slice(rows.length)].join('\n')
}
