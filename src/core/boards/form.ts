import { z } from 'zod'
import { fieldReasons } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import { type BoardDefinition, FormDate, type FormField } from './definition.ts'
import type { Variables } from './expression.ts'

/** A stored file as the value of a field: its id. The caller has checked that the file is in the space of the run. */
const FileId = z.string().min(1).max(100)

function schemaOf(field: FormField): z.ZodType<string | number> {
  switch (field.kind) {
    case 'text': {
      const text = z.string().max(field.maxLength)
      return text.min(Math.max(field.minLength ?? 0, field.required ? 1 : 0))
    }
    case 'number':
      return z
        .number()
        .min(field.min ?? -Number.MAX_VALUE)
        .max(field.max ?? Number.MAX_VALUE)
    case 'date': {
      const { min, max } = field
      return FormDate.refine((day) => min === undefined || day >= min, `must be ${min} or later`).refine(
        (day) => max === undefined || day <= max,
        `must be ${max} or earlier`,
      )
    }
    case 'choice':
      return z.enum(field.options as [string, ...string[]])
    case 'file':
    case 'signature':
      return FileId
  }
}

type Named = Readonly<{ name: string; required: boolean }>

/** Building a schema takes longer than the rest of a step, so that of a form or of start variables is reused as long as its board is. */
const schemas = new WeakMap<readonly Named[], z.ZodType>()

function schemaOfAll<Value extends Named>(values: readonly Value[], one: (value: Value) => z.ZodType): z.ZodType {
  const built = schemas.get(values)
  if (built) return built
  const shape = values.map((value) => [value.name, value.required ? one(value) : one(value).optional()])
  const schema = z.strictObject(Object.fromEntries(shape))
  schemas.set(values, schema)
  return schema
}

const maxVariableBytes = 262_144

/** Bytes of values as JSON. */
export const bytesOf = (values: Variables): number => new TextEncoder().encode(JSON.stringify(values)).length

/** Throws PAYLOAD_TOO_LARGE for more variables than a run may have. */
export function assertSize(variables: Variables): void {
  const bytes = bytesOf(variables)
  if (bytes > maxVariableBytes)
    throw problem('PAYLOAD_TOO_LARGE', `The variables of the run would take ${bytes} bytes; at most ${maxVariableBytes} are possible.`)
}

const startTypes = { text: z.string(), number: z.number(), date: FormDate, boolean: z.boolean() } as const

/** The variables that a run begins with. Throws VALIDATION that names each wrong, missing or unknown one, PAYLOAD_TOO_LARGE. */
export function readStartVariables({ variables }: Pick<BoardDefinition, 'variables'>, values: unknown): Variables {
  const read = schemaOfAll(variables, ({ type }) => startTypes[type]).safeParse(values)
  if (!read.success) throw refusal('variables', 'variable of this board', read.error)
  assertSize(read.data as Variables)
  return read.data as Variables
}

function refusal(at: 'data' | 'variables', unknown: string, error: z.ZodError) {
  const reasons = fieldReasons(error, at).map(({ path, reason }) =>
    reason === 'is not a known field' ? { path, reason: `is not a ${unknown}` } : { path, reason },
  )
  const listed = reasons.slice(0, 10).map(({ path, reason }) => `${path} ${reason}`)
  const more = reasons.length > listed.length ? ` (and ${reasons.length - listed.length} more)` : ''
  return problem('VALIDATION', `The values were not accepted: ${listed.join('; ')}${more}`, { details: reasons.slice(0, 100) })
}

/** The values of a submitted form. Throws VALIDATION that names each wrong, missing or unknown field. */
export function readForm(fields: readonly FormField[], values: unknown): Variables {
  const read = schemaOfAll(fields, schemaOf).safeParse(values)
  if (read.success) return read.data as Variables
  throw refusal('data', 'field of this form', read.error)
}
