/** Colours by what they mean on a terminal; each is the identity where colour is off. */
export type Paint = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', (text: string) => string>>

/** How a view may look: columns to fill (endless when stdout is no terminal), colours, and the time that ages are told by; `url` is the daemon's. */
export type Look = Readonly<{ width: number; colour: boolean; paint: Paint; now: Date; url?: string }>

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const

export const paintWith = (colour: boolean): Paint => {
  const pairs = Object.entries(codes).map(([name, [on, off]]) => [
    name,
    (text: string) => (colour && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text),
  ])
  return Object.fromEntries(pairs) as Paint
}

const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u
const markOnly = /[\p{M}\u200d]/u

/** Columns that a text without escapes takes on a terminal. */
export function displayWidth(text: string): number {
  let columns = 0
  for (const character of text) columns += markOnly.test(character) ? 0 : wide.test(character) ? 2 : 1
  return columns
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

/** Text without its colours, which take no columns. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
export const bare = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, '')
