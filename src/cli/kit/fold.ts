import { bare, displayWidth } from './look.ts'

/** A command to copy, between backticks or to the end of its line, is one word; so is whatever holds no space. */
const words = /`[^`]*`[^\s]*|\btenantry(?:d|-agent)? .*$|\S+/g

/** Breaks the lines that are wider than the terminal at spaces; what goes on below keeps the indent. Commands stay whole. */
export function fold(text: string, width: number): string {
  if (!Number.isFinite(width)) return text
  return text
    .split('\n')
    .flatMap((line) => (displayWidth(bare(line)) <= width ? [line] : foldLine(line, width)))
    .join('\n')
}

function foldLine(line: string, width: number): string[] {
  const indent = /^ */.exec(line)?.[0] ?? ''
  const lines: string[] = []
  let current = ''
  for (const word of line.match(words) ?? []) {
    if (current !== '' && displayWidth(bare(`${indent}${current} ${word}`)) > width) {
      lines.push(indent + current)
      current = word
    } else current = current === '' ? word : `${current} ${word}`
  }
  return [...lines, indent + current]
}
