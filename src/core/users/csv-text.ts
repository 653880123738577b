// Without schemas: the browser loads this file.

/** Spreadsheets run a cell that begins with one of these, even after blanks. Full-width signs count too. */
const formulaStarts = ['=', '+', '-', '@', '\uff0b', '\uff0d', '\uff1d', '\uff20']
const isFormula = (text: string) => formulaStarts.includes(text.trimStart()[0] ?? '') || /^[\t\r\n]/.test(text)

/** A CSV cell that spreadsheets neither run as a formula nor split. */
export function csvCell(value: string | number | null): string {
  if (typeof value === 'number') return String(value)
  const text = value ?? ''
  const safe = isFormula(text) ? `'${text}` : text
  return /[",;\n\r\t']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** CSV lines, each with its line end, so that files can be concatenated. */
export const csvLines = (rows: readonly (readonly (string | number | null)[])[]): string =>
  rows.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
