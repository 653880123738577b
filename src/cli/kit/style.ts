import { displayWidth } from '../../core/kit/index.ts'

/** Repeats `--url` in the commands of a text: without it they would go to another daemon. */
export const withAddress = (text: string, url: string | undefined): string =>
  url === undefined ? text : text.replace(/(?<![\w./-])tenantry (?=[a-z])/g, () => `tenantry --url ${url} `)

/** Terminal colours; each is the identity when colour is off. */
export type Paint = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', (text: string) => string>>

/** The terminal a view renders for. */
export type Style = Readonly<{
  /** In columns; infinite without a terminal. */
  width: number
  colour: boolean
  paint: Paint
  now: Date
  /** The daemon's address. */
  url?: string
  /** The address that printed commands must repeat. */
  repeatedUrl?: string
  /** Every column of a table, also an empty one: for a pipe, or asked for. */
  allColumns?: boolean
  /** Titles of the only columns. */
  columns?: readonly string[]
  /** The first column of a table alone, without its title. */
  quiet?: boolean
  /** Every detail of a view. */
  verbose?: boolean
}>

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const

export const paintWith = (colour: boolean): Paint => {
  const pairs = Object.entries(codes).map(([name, [on, off]]) => [
    name,
    (text: string) => (colour && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text),
  ])
  return Object.fromEntries(pairs) as Paint
}

/** Cuts text to `width` columns; an ellipsis marks the cut. */
export function shorten(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let shown = ''
  for (const character of text) {
    if (displayWidth(shown + character) > width - 1) break
    shown += character
  }
  return width < 1 ? '' : `${shown.trimEnd()}…`
}

export const padEnd = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - displayWidth(text)))
export const padStart = (text: string, width: number): string => ' '.repeat(Math.max(0, width - displayWidth(text))) + text
