import { displayWidth } from '../../core/kit/index.ts'

/** Terminal colours; each is the identity when colour is off. */
export type Paint = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', (text: string) => string>>

/** The terminal a view renders for: width in columns (infinite without a terminal), colours, the current time, the daemon's address. */
export type Style = Readonly<{ width: number; colour: boolean; paint: Paint; now: Date; url?: string }>

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
