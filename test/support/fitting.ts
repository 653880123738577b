import fc from 'fast-check'
import { z } from 'zod'

// Values made from what the contract says of them: requests of every shape for every endpoint, also for those that come later.

export type Schema = Record<string, unknown>

export const schemaOf = (part: z.ZodType | undefined): Schema | undefined =>
  part && (z.toJSONSchema(part, { io: 'input', unrepresentable: 'any' }) as Schema)

/** `text` stands where the schema only asks for text; `anything` where it asks for nothing, and now and then (one of ten) for the rest. */
export type Leaves = Readonly<{ text: fc.Arbitrary<string>; anything: fc.Arbitrary<unknown> }>

/** Mostly what the schema asks for, and now and then something else. */
export function like(leaves: Leaves, schema: Schema | undefined, depth = 0): fc.Arbitrary<unknown> {
  if (!schema || depth > 6) return leaves.anything
  return fc.oneof({ weight: 9, arbitrary: fitting(leaves, schema, depth) }, { weight: 1, arbitrary: leaves.anything })
}

export function fitting(leaves: Leaves, schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (options) return fc.oneof(...options.map((option) => like(leaves, option, depth + 1)))
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]))
  if (schema.type === 'object') return fields(leaves, schema, depth)
  if (schema.type === 'array')
    return fc.array(like(leaves, schema.items as Schema, depth + 1), { minLength: Number(schema.minItems ?? 0), maxLength: 3 })
  if (schema.type === 'integer' || schema.type === 'number')
    return fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(2 ** 31, 2 ** 53, -1, 1.5, 1e300))
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'null') return fc.constant(null)
  if (typeof schema.pattern === 'string') return fc.oneof(matching(schema.pattern), leaves.text)
  return leaves.text
}

/** What a pattern refuses by looking ahead is made all the same, and left out. */
function matching(pattern: string): fc.Arbitrary<string> {
  const form = new RegExp(pattern)
  return fc.stringMatching(new RegExp(pattern.replaceAll(/\(\?![^()]*\)/g, ''))).filter((text) => form.test(text))
}

function fields(leaves: Leaves, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Record<string, Schema>
  const arbitraries = Object.fromEntries(Object.entries(properties).map(([key, inner]) => [key, like(leaves, inner, depth + 1)]))
  return fc.record(arbitraries, { requiredKeys: ((schema.required ?? []) as string[]).filter((key) => key in arbitraries) })
}
