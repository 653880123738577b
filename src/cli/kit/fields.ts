import { bare, displayWidth, printable, wordsOf } from '../../core/kit/index.ts'
import { padEnd, type Style } from './style.ts'

/** A `detail` is shown with `--verbose` alone, so that a view is a summary. */
type Field = readonly [name: string, value: string | number | null | undefined, level?: 'detail']

/** Name and value per line; values of several lines are indented, absent ones left out. */
export function fields({ paint, width, verbose }: Style, pairs: readonly Field[]): string {
  const shown = pairs.filter(([, value, level]) => value !== undefined && value !== null && value !== '' && (verbose || level !== 'detail'))
  const left = Math.max(0, ...shown.map(([name]) => displayWidth(name)))
  return shown
    .map(([name, value]) => {
      const lines = String(value)
        .split('\n')
        .flatMap((line) => wrap(line, width - left - 2))
      return lines.map((line, index) => `${paint.dim(padEnd(index === 0 ? name : '', left))}  ${line}`.trimEnd()).join('\n')
    })
    .join('\n')
}

/** Breaks text at spaces to fit the width; a command stays on one line so that it can be copied. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of wordsOf(text)) {
    if (line !== '' && displayWidth(bare(line)) + 1 + displayWidth(bare(word)) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** Joins the non-empty parts of a view with an empty line. */
export const sections = (...parts: readonly (string | undefined)[]): string => parts.filter((part) => part).join('\n\n')

/** Foreign text on one line, without control characters. */
export const clean = (value: unknown): string => printable(String(value).replace(/\s+/g, ' ').trim())
