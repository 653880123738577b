import { fold } from '../../core/kit/index.ts'
import { clean } from './fields.ts'
import type { Look } from './look.ts'
import { type Column, table } from './table.ts'

/** A table of which one column is what one reads it for: where that has no room, each row has it below, whole. */
export function tableWithText<Row>(look: Look, columns: readonly Column<Row>[], text: Column<Row>, rows: readonly Row[]): string {
  const whole = table({ ...look, width: Number.POSITIVE_INFINITY }, columns, rows)
  if (fold(whole, look.width) === whole) return whole
  const others = columns.filter((column) => column !== text)
  const [head = '', ...lines] = table(look, others, rows).split('\n')
  const below = (row: Row) => (text.value(row) ? [fold(`    ${clean(text.value(row))}`, look.width)] : [])
  return [head, ...rows.flatMap((row, index) => [lines[index] ?? '', ...below(row)])].join('\n')
}
