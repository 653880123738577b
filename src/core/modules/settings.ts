import { z } from 'zod'

const maxProperties = 50
const text = z.string().max(500)

const common = { title: text.optional(), description: text.optional() }

/** No `pattern`: a regular expression of a stranger can take for ever. No references and no nesting: a form can show every setting. */
const Property = z.union([
  z.strictObject({
    ...common,
    type: z.literal('string'),
    kind: z.literal('secret').optional().meta({ description: 'A secret is stored sealed and never read back' }),
    enum: z.array(z.string().max(200)).min(1).max(100).optional(),
    default: z.string().max(2000).optional(),
    minLength: z.int().min(0).max(10_000).optional(),
    maxLength: z.int().min(1).max(10_000).optional(),
  }),
  z.strictObject({
    ...common,
    type: z.enum(['number', 'integer']),
    default: z.number().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
  }),
  z.strictObject({ ...common, type: z.literal('boolean'), default: z.boolean().optional() }),
  z.strictObject({
    ...common,
    type: z.literal('array'),
    items: z.strictObject({ type: z.literal('string'), maxLength: z.int().min(1).max(1000).optional() }),
    maxItems: z.int().min(1).max(100).optional(),
  }),
])

/** The settings of a module: an object of plain values, as JSON Schema. */
export const SettingsSchema = z
  .strictObject({
    type: z.literal('object'),
    properties: z.record(z.string().regex(/^[a-z][A-Za-z0-9]{0,49}$/, 'must be a name such as startHour'), Property),
    required: z.array(z.string()).max(maxProperties).optional(),
    additionalProperties: z.literal(false).optional(),
  })
  .refine(({ properties }) => Object.keys(properties).length <= maxProperties, `must have at most ${maxProperties} properties`)
  .refine(
    ({ properties, required = [] }) => required.every((name) => Object.hasOwn(properties, name)),
    'requires a setting that it does not have',
  )
  .superRefine(({ properties }, context) => {
    for (const [name, property] of Object.entries(properties)) {
      const { default: value } = property as { default?: unknown }
      if (value !== undefined && !valueSchema(property).safeParse(value).success)
        context.addIssue({ code: 'custom', path: ['properties', name, 'default'], message: 'must be a valid value of the setting' })
      if ('kind' in property && value !== undefined)
        context.addIssue({ code: 'custom', path: ['properties', name, 'default'], message: 'must not be set for a secret' })
    }
  })
export type SettingsSchema = z.infer<typeof SettingsSchema>
type Property = z.infer<typeof Property>

function valueSchema(property: Property): z.ZodType {
  switch (property.type) {
    case 'string': {
      const { minLength = 0, maxLength = 10_000, enum: values } = property
      const schema = z.string().min(minLength).max(maxLength)
      return values ? schema.refine((value) => values.includes(value), `must be one of ${values.join(', ')}`) : schema
    }
    case 'boolean':
      return z.boolean()
    case 'array':
      return z.array(z.string().max(property.items.maxLength ?? 1000)).max(property.maxItems ?? 100)
    default: {
      const { minimum = -Number.MAX_VALUE, maximum = Number.MAX_VALUE } = property
      return (property.type === 'integer' ? z.int() : z.number()).min(minimum).max(maximum)
    }
  }
}

/** The schema of values, strict; defaults are filled in. */
export function settingsValues(schema: SettingsSchema | null): z.ZodType<Readonly<Record<string, unknown>>> {
  if (schema === null) return z.strictObject({})
  const required = new Set(schema.required)
  const entries = Object.entries(schema.properties).map(([name, property]) => {
    const value = valueSchema(property)
    const { default: fallback } = property as { default?: unknown }
    if (fallback !== undefined) return [name, value.default(fallback)]
    return [name, required.has(name) ? value : value.optional()]
  })
  return z.strictObject(Object.fromEntries(entries))
}

/** Names of settings that are stored sealed. */
export const secretSettings = (schema: SettingsSchema | null): readonly string[] =>
  Object.entries(schema?.properties ?? {}).flatMap(([name, property]) => ('kind' in property && property.kind === 'secret' ? [name] : []))

/** Stored values that are valid for the schema, with its defaults: another version may know fewer settings, or others. */
export function effectiveSettings(
  schema: SettingsSchema | null,
  stored: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(schema?.properties ?? {}).flatMap(([name, property]) => {
    const { default: fallback } = property as { default?: unknown }
    const value = valueSchema(property).safeParse(stored[name])
    if (value.success) return [[name, value.data] as const]
    return fallback === undefined ? [] : [[name, fallback] as const]
  })
  return Object.fromEntries(entries)
}
