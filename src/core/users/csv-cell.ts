/** Spreadsheets run what begins like this, also behind blanks; full-width signs count too. */
const begins = ['=', '+', '-', '@', '\uff0b', '\uff0d', '\uff1d', '\uff20']
const isFormula = (text: string) => begins.includes(text.trimStart()[0] ?? '') || /^[\t\r\n]/.test(text)

/** One cell of a CSV file that people open in a spreadsheet: no text of others is taken for a formula, and none breaks out of its cell. */
export function csvCell(value: string | number | null): string {
  if (typeof value === 'number') return String(value)
  const text = value ?? ''
  const safe = isFormula(text) ? `'${text}` : text
  return /[",;\n\r\t']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Lines with their end, so that files can be joined. */
export const csvLines = (rows: readonly (readonly (string | number | null)[])[]): string =>
  rows.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
