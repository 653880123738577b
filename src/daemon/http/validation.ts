import type { z } from 'zod'
import { problem } from '../../core/kit/index.ts'

/** PostgreSQL cannot store NUL, and a lone surrogate breaks the chat server. Throws VALIDATION with the path. */
export function assertStorable(value: unknown, path: readonly string[] = []): void {
  if (typeof value === 'string') assertStorableText(value, path)
  if (typeof value === 'object' && value !== null) for (const [key, inner] of Object.entries(value)) assertStorable(inner, [...path, key])
}

const half = /\p{Surrogate}/u

function assertStorableText(text: string, path: readonly string[]): void {
  const what = text.includes('\u0000') ? 'the character NUL' : half.test(text) ? 'a lone surrogate' : undefined
  if (what === undefined) return
  const [at, reason] = [path.join('.') || '(whole)', `must not contain ${what}`]
  throw problem('VALIDATION', `${at}: ${reason}`, { details: [{ path: at, reason }] })
}

/**
 * Parses a response with its schema. Throws for undeclared fields too: the schema would strip them, but outside of tests they would be sent.
 */
export function validateAnswer(schema: z.ZodType, answer: unknown): unknown {
  const known = schema.parse(answer)
  const [undeclared] = fieldsBeyond(asSent(answer), asSent(known), 'the answer')
  if (undeclared) throw new Error(`${undeclared} is not in the contract`)
  return known
}

/** The value as sent: without undefined fields. */
const asSent = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

function fieldsBeyond(sent: unknown, known: unknown, path: string): string[] {
  if (typeof sent !== 'object' || sent === null) return []
  if (typeof known !== 'object' || known === null) return [path]
  return Object.entries(sent).flatMap(([name, value]) =>
    name in known ? fieldsBeyond(value, known[name as keyof typeof known], `${path}.${name}`) : [`${path}.${name}`],
  )
}
