import { bare, displayWidth } from './display-width.ts'

/** Parts that are never wrapped: commands (in backticks, or up to the end of the line or a semicolon) and durations. */
const whole = /`[^`]*`|\btenantry(?:d|-agent)? (?:'[^']*'|[^;'])*|\b\d+ (?:h \d\d min|min \d+ s|min|h|s|ms)\b/g

/** A sign that stands in no text of ours or of others. */
const glue = '\ue0ff'

/** The words of a line; between two of them it may be broken. */
export const wordsOf = (line: string): string[] =>
  line
    .replace(whole, (one) => one.replaceAll(' ', glue))
    .split(' ')
    .map((word) => word.replaceAll(glue, ' '))

/** Breaks lines that are wider than the terminal at spaces; continuation lines keep the indent. Commands are not broken. */
export function fold(text: string, width: number): string {
  if (!Number.isFinite(width)) return text
  return text
    .split('\n')
    .flatMap((line) => (displayWidth(bare(line)) <= width ? [line] : foldLine(line, width)))
    .join('\n')
}

/** The spaces that a line begins with, and the colours that are switched on or off among them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const lead = /^(?: |\u001b\[[0-9;]*m)*/

function foldLine(line: string, width: number): string[] {
  const [begins = ''] = lead.exec(line) ?? []
  const indent = bare(begins)
  const lines: string[] = []
  let current = ''
  for (const word of wordsOf(begins.replaceAll(' ', '') + line.slice(begins.length)).filter(Boolean)) {
    if (current !== '' && displayWidth(bare(`${indent}${current} ${word}`)) > width) {
      lines.push(indent + current)
      current = word
    } else current = current === '' ? word : `${current} ${word}`
  }
  return [...lines, indent + current]
}

/** A text with a label on its left: continuation lines are aligned with the text. */
export const foldBeside = (left: string, text: string, width: number): string =>
  left + fold(text, width - displayWidth(bare(left))).replaceAll('\n', `\n${' '.repeat(displayWidth(bare(left)))}`)
