import { problem } from '../../core/kit/index.ts'

/** PostgreSQL keeps no text with the character NUL; half of a character is kept as another one, and breaks the chat server off. Throws VALIDATION with the path. */
export function refuseUnkept(value: unknown, path: readonly string[] = []): void {
  if (typeof value === 'string') refuseIn(value, path)
  if (typeof value === 'object' && value !== null) for (const [key, inner] of Object.entries(value)) refuseUnkept(inner, [...path, key])
}

/** Of the two with which UTF-16 writes a character, one alone. */
const half = /\p{Surrogate}/u

function refuseIn(text: string, path: readonly string[]): void {
  const what = text.includes('\u0000') ? 'the character NUL' : half.test(text) ? 'half of a character (a lone surrogate)' : undefined
  if (what === undefined) return
  const [at, reason] = [path.join('.') || '(whole)', `must not hold ${what}`]
  throw problem('VALIDATION', `${at}: ${reason}`, { details: [{ path: at, reason }] })
}
