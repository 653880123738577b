import { type CsvError, parse } from 'csv-parse/sync'
import { problem } from '../../core/kit/index.ts'
import { columnNotes, commonDomain, type ImportRow, importCells, importColumns, importLimits } from '../../core/users/index.ts'

type ParsedRow = Readonly<{ record: readonly string[]; info: Readonly<{ lines: number }> }>
/** `line`: on which it begins. */
type Row = Readonly<{ record: readonly string[]; line: number }>
/** `notes`: how columns were read, where that is not plain. */
type ImportTable = Readonly<{ rows: readonly ImportRow[]; notes: readonly string[] }>

type ReadOptions = Readonly<{ ignoreColumns?: boolean; emails?: boolean }>

/**
 * The rows of a file by its header, which decides what separates the cells. Columns that an import does not use are refused, unless
 * `ignoreColumns`. Throws VALIDATION naming the line.
 */
export function readCsv(csv: string, { ignoreColumns = false, emails = false }: ReadOptions = {}): ImportTable {
  assertTable(csv)
  assertUndamaged(csv)
  const { text, delimiter } = separated(csv.normalize('NFC'))
  assertSize(text, delimiter)
  const [head, ...rows] = parseRows(text, delimiter)
  if (!head) throw invalidCsv('the file is empty')
  if (rows.length > importLimits.lines) throw tooManyLines()
  const columns = importColumns(head.record, { emails })
  if (typeof columns === 'string') throw invalidCsv(columns)
  if (emails && columns.of.mail === undefined)
    throw invalidCsv('no column has mail addresses. fix: add a column email, or leave out --emails (emails in the API)')
  const records = rows.map(({ record }) => record)
  for (const row of rows) {
    assertWidth(head.record, row)
    assertNoLines(head.record, row, delimiter)
  }
  const used = usedColumns([head.record, ...records])
  const others = columns.others.filter((column) => used.has(column)).map((column) => head.record[column] || `column ${column + 1}`)
  if (others.length > 0 && !ignoreColumns)
    throw invalidCsv(
      `the import does not use the columns ${others.join(', ').slice(0, 1000)}. fix: pass --ignore-columns (ignoreColumns in the API), or delete them`,
    )
  const domain = commonDomain(columns, records)
  const ignored = others.length > 0 ? [`Ignored columns: ${others.join(', ')}`] : []
  return {
    rows: rows.map(({ record, line }) => ({ line, cells: importCells(columns, record, { domain, emails }) })),
    notes: [...columnNotes(columns, head.record, domain), ...ignored],
  }
}

/** The positions of columns that have a name or a cell. */
function usedColumns(records: readonly (readonly string[])[]): ReadonlySet<number> {
  const used = new Set<number>()
  for (const record of records) for (let column = 0; column < record.length; column += 1) if (record[column] !== '') used.add(column)
  return used
}

function assertTable(csv: string): void {
  if (/^\s*<[!?a-z]/i.test(csv)) throw invalidCsv('the file is XML or a web page. fix: export it as CSV')
}

/** Programs put this character in the place of a letter they could not read. */
function assertUndamaged(csv: string): void {
  const at = csv.indexOf('\ufffd')
  if (at < 0) return
  const line = csv.slice(0, at).split(lineEnd).length
  throw invalidCsv(
    `line ${line} has a letter that was lost (\ufffd). fix: export the file again, and send it in its own encoding or as UTF-8`,
  )
}

function separated(csv: string): { text: string; delimiter: string } {
  const named = /^\ufeff?sep=(.)(?=\r|\n)/i.exec(csv)
  const text = named ? csv.slice(named[0].length) : csv
  const delimiter = named?.[1] ?? delimiterOf(text)
  // Spreadsheets fill a sheet up with lines of separators: a million of them takes minutes where the header has another number.
  return { text: text.replace(new RegExp(`(?<=^|[\\r\\n])[ \\t${escaped(delimiter)}]+(?=[\\r\\n]|$)`, 'gu'), ''), delimiter }
}

const escaped = (sign: string) => `\\u{${sign.charCodeAt(0).toString(16)}}`

/** A cell may have lines. */
const maxTextLines = 2 * importLimits.lines
const maxCells = 100 * importLimits.lines

/** A record costs far more time and memory than its text: 5 MB may be millions of them, and the daemon serves no other call meanwhile. */
function assertSize(text: string, delimiter: string): void {
  if (occursMoreThan(text, /[^\r\n]+/g, maxTextLines)) throw tooManyLines()
  if (occursMoreThan(text, new RegExp(escaped(delimiter), 'gu'), maxCells))
    throw invalidCsv(`the file has more than ${maxCells} cells. fix: delete the columns that are not needed`)
}

function occursMoreThan(text: string, part: RegExp, most: number): boolean {
  for (let count = 0; count <= most; count += 1) if (!part.test(text)) return false
  return true
}

const tooManyLines = () => invalidCsv(`the file has more than ${importLimits.lines} lines. fix: split it`)

const maxLineLength = 20_000
const lineEnd = /\r\n|\r|\n/
const lineEnds = (text: string) => text.split(lineEnd).length - 1

function parseRows(text: string, delimiter: string): Row[] {
  try {
    const rows = parse(text, {
      bom: true,
      delimiter,
      info: true,
      trim: true,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      max_record_size: maxLineLength,
    }) as unknown as ParsedRow[]
    return rows.map(({ record, info }) => ({ record, line: info.lines - lineEnds(record.join('')) }))
  } catch (error) {
    throw invalidCsv(reasonOf(error as CsvError))
  }
}

function reasonOf({ code, lines, message }: CsvError): string {
  if (code === 'CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE')
    return `line ${lines}: a cell in quotation marks has more of them inside. fix: delete those inside, or write each of them twice`
  if (code === 'CSV_QUOTE_NOT_CLOSED')
    return 'a cell begins with a quotation mark that is not closed up to the end of the file. fix: delete the mark, or close it'
  if (code === 'CSV_MAX_RECORD_SIZE')
    return `line ${lines} is longer than ${maxLineLength} characters: a quotation mark may be open. fix: close it, or delete it`
  return message
}

/** The sign that separates most cells of the first line. */
function delimiterOf(csv: string): string {
  const head = (csv.split(/[\r\n]/, 1)[0] ?? '').replace(/"[^"]*"/g, '')
  const count = (sign: string) => head.split(sign).length
  return [',', ';', '\t', '|'].reduce((best, sign) => (count(sign) > count(best) ? sign : best))
}

/** Spreadsheets write separators after the last cell. */
function assertWidth(head: readonly string[], { record, line }: Row): void {
  if (record.slice(head.length).some((cell) => cell !== ''))
    throw invalidCsv(`line ${line} has ${record.length} cells, but the header names ${head.length} columns`)
}

/** After a quotation mark that is alone, the lines up to the next one are a single cell: their users would be missing without a word. */
function assertNoLines(head: readonly string[], { record, line }: Row, delimiter: string): void {
  const column = record.findIndex((cell) => cell.split(lineEnd).some((part, index) => index > 0 && part.includes(delimiter)))
  if (column >= 0)
    throw invalidCsv(
      `line ${line}: a quotation mark in the column ${head[column] || column + 1} takes in the lines after it. fix: delete the mark, or the column`,
    )
}

const invalidCsv = (reason: string) => problem('VALIDATION', `csv: ${reason}`, { details: [{ path: 'body.csv', reason }] })
