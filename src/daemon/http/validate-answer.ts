import type { z } from 'zod'

/**
 * The answer as its contract knows it. Throws where it is none, and where it names a field that the contract does not: a schema only leaves
 * such a field out, and outside of tests it would go over the wire.
 */
export function validateAnswer(schema: z.ZodType, answer: unknown): unknown {
  const known = schema.parse(answer)
  const [undeclared] = fieldsBeyond(asSent(answer), asSent(known), 'the answer')
  if (undeclared) throw new Error(`${undeclared} is in no contract`)
  return known
}

/** What of it goes over the wire: a field that is undefined does not. */
const asSent = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

function fieldsBeyond(sent: unknown, known: unknown, path: string): string[] {
  if (typeof sent !== 'object' || sent === null) return []
  if (typeof known !== 'object' || known === null) return [path]
  return Object.entries(sent).flatMap(([name, value]) =>
    name in known ? fieldsBeyond(value, known[name as keyof typeof known], `${path}.${name}`) : [`${path}.${name}`],
  )
}
