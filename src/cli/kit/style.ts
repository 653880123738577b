import { displayWidth } from '../../core/kit/index.ts'

/** Colours by what they mean on a terminal; each is the identity where colour is off. */
export type Paint = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', (text: string) => string>>

/** How a view may look: columns to fill (endless when stdout is no terminal), colours, and the time that ages are told by; `url` is the daemon's. */
export type Style = Readonly<{ width: number; colour: boolean; paint: Paint; now: Date; url?: string }>

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const

export const paintWith = (colour: boolean): Paint => {
  const pairs = Object.entries(codes).map(([name, [on, off]]) => [
    name,
    (text: string) => (colour && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text),
  ])
  return Object.fromEntries(pairs) as Paint
}

/** At most `width` columns; what was cut off is told by an ellipsis. */
export function shorten(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let kept = ''
  for (const character of text) {
    if (displayWidth(kept + character) > width - 1) break
    kept += character
  }
  return width < 1 ? '' : `${kept.trimEnd()}…`
}

export const padEnd = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - displayWidth(text)))
export const padStart = (text: string, width: number): string => ' '.repeat(Math.max(0, width - displayWidth(text))) + text
