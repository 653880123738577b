import type { z } from 'zod'
import { problem } from '../../core/kit/index.ts'

/** More than any value of the contract has. */
const maxLevels = 64

/** More than any value of the contract has: the passwords of the longest import. The parser makes an issue of each key that is wrong. */
const maxKeys = 10_000

/** Bounds levels and keys before the parser sees the value. Throws VALIDATION with the path. */
export const assertShallow = (value: unknown): void => assertNothing(faultIn(value, () => undefined))

/** PostgreSQL cannot store NUL, and a lone surrogate breaks the chat server. Throws VALIDATION with the path. */
export const assertStorable = (value: unknown): void => assertNothing(faultIn(value, unstorableText))

function assertNothing(found: Fault | undefined): void {
  if (!found) return
  const [at, { reason }] = [found.path.join('.') || '(whole)', found]
  throw problem('VALIDATION', `${at}: ${reason}`, { details: [{ path: at, reason }] })
}

type Fault = Readonly<{ path: readonly string[]; reason: string }>

/**
 * The path is built only when something is found: a copy of it at each level is quadratic in the depth. `Object.entries` takes a second for a
 * list of two million numbers.
 */
function faultIn(value: unknown, ofText: (text: string) => string | undefined, level = 0): Fault | undefined {
  const reason = typeof value === 'string' ? ofText(value) : undefined
  if (reason !== undefined) return { path: [], reason }
  if (typeof value !== 'object' || value === null) return undefined
  if (level === maxLevels) return { path: [], reason: `must not be nested deeper than ${maxLevels} levels` }
  const names = Array.isArray(value) ? undefined : Object.keys(value)
  const count = names ? names.length : (value as unknown[]).length
  if (names && count > maxKeys) return { path: [], reason: `must have at most ${maxKeys} fields, not ${count}` }
  for (let at = 0; at < count; at++) {
    const key = names ? (names[at] as string) : at
    const found = faultIn((value as Record<string | number, unknown>)[key], ofText, level + 1)
    if (found) return { ...found, path: [String(key), ...found.path] }
  }
  return undefined
}

const half = /\p{Surrogate}/u

function unstorableText(text: string): string | undefined {
  const what = text.includes('\u0000') ? 'the character NUL' : half.test(text) ? 'a lone surrogate' : undefined
  return what === undefined ? undefined : `must not contain ${what}`
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
