import { type CsvError, parse } from 'csv-parse/sync'
import { problem } from '../../core/kit/index.ts'
import { type ImportRow, importLimits, wrongHead } from '../../core/users/index.ts'

type Parsed = Readonly<{ record: readonly string[]; info: Readonly<{ lines: number }> }>

/** The rows of a file by its head; commas, semicolons and tabs separate, whichever the head uses. Throws VALIDATION naming the line. */
export function readCsv(csv: string): ImportRow[] {
  const [head, ...rows] = parsed(csv)
  if (!head) throw refused('the file is empty')
  const wrong = wrongHead(head.record)
  if (wrong) throw refused(wrong)
  if (rows.length > importLimits.lines) throw refused(`the file has ${rows.length} lines: at most ${importLimits.lines}, split it`)
  return rows.map(({ record, info }) => ({ line: info.lines, cells: cellsOf(head.record, record, info.lines) }))
}

function parsed(csv: string): Parsed[] {
  try {
    return parse(csv, {
      bom: true,
      delimiter: delimiterOf(csv),
      info: true,
      trim: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: 20_000,
    }) as unknown as Parsed[]
  } catch (error) {
    throw refused((error as CsvError).message)
  }
}

function delimiterOf(csv: string): string {
  const head = csv.split(/\r?\n/, 1)[0] ?? ''
  return [';', '\t'].find((sign) => head.includes(sign)) ?? ','
}

function cellsOf(head: readonly string[], record: readonly string[], line: number): ImportRow['cells'] {
  if (record.length > head.length) throw refused(`line ${line} has ${record.length} cells, and the head names ${head.length}`)
  return Object.fromEntries(head.map((name, index) => [name, record[index] ?? '']))
}

const refused = (reason: string) => problem('VALIDATION', `csv: ${reason}`, { details: [{ path: 'body.csv', reason }] })
