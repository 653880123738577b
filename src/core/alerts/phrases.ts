import { printable } from '../kit/index.ts'

/** The stored error of an action. Text from a box or an agent is untrusted. */
export type AlertError = Readonly<{ code: string; message: string }> | null

/** Formats an ISO time for a message: `2026-01-05 02:00:00 UTC`. */
export const humanTime = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`

/** Reduces untrusted text to one printable line of at most `maxLength` characters. */
export const quoted = (text: string, maxLength = 400): string => {
  const line = printable(text.replace(/\s+/g, ' ')).trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
}

export const reasonText = (error: AlertError): string =>
  error ? `${quoted(error.code, 60)}: ${quoted(error.message)}` : 'The agent gave no reason.'

/** The first names of a list: `anna-schule, ben-schule, …`. */
export const firstOf = (names: readonly string[], max = 10): string => `${names.slice(0, max).join(', ')}${names.length > max ? ', …' : ''}`
