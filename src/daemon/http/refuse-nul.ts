import { problem } from '../../core/kit/index.ts'

/** PostgreSQL keeps no text with the character NUL. Throws VALIDATION with the path. */
export function refuseNul(value: unknown, path: readonly string[] = []): void {
  if (typeof value === 'string' && value.includes('\u0000')) {
    const at = path.join('.') || '(whole)'
    throw problem('VALIDATION', `${at}: must not hold the character NUL`, {
      details: [{ path: at, reason: 'must not hold the character NUL' }],
    })
  }
  if (typeof value === 'object' && value !== null) for (const [key, inner] of Object.entries(value)) refuseNul(inner, [...path, key])
}
