import fc from 'fast-check'
import { z } from 'zod'

// Generates values from the schemas of the contract: requests of every form for every endpoint, including future ones.

export type Schema = Record<string, unknown>

export const schemaOf = (part: z.ZodType | undefined): Schema | undefined =>
  part && (z.toJSONSchema(part, { io: 'input', unrepresentable: 'any' }) as Schema)

/** `text` is used for plain strings; `anything` for values without a schema, and in one of ten cases for the rest. */
export type Leaves = Readonly<{ text: fc.Arbitrary<string>; anything: fc.Arbitrary<unknown> }>

/** Usually a value that matches the schema, sometimes another one. */
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

/** Values that a negative lookahead rejects are generated and filtered out. */
function matching(pattern: string): fc.Arbitrary<string> {
  const form = new RegExp(pattern)
  return fc.stringMatching(new RegExp(pattern.replaceAll(/\(\?![^()]*\)/g, ''))).filter((text) => form.test(text))
}

function fields(leaves: Leaves, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Record<string, Schema>
  const arbitraries = Object.fromEntries(Object.entries(properties).map(([key, inner]) => [key, like(leaves, inner, depth + 1)]))
  return fc.record(arbitraries, { requiredKeys: ((schema.required ?? []) as string[]).filter((key) => key in arbitraries) })
}
