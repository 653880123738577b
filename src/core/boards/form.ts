import { z } from 'zod'
import { type FieldReason, problem } from '../kit/index.ts'
import type { FormField } from './definition.ts'
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
      return z.iso
        .date()
        .refine((day) => min === undefined || day >= min, `must be ${min} or later`)
        .refine((day) => max === undefined || day <= max, `must be ${max} or earlier`)
    }
    case 'choice':
      return z.enum(field.options as [string, ...string[]])
    case 'file':
    case 'signature':
      return FileId
  }
}

const formSchema = (fields: readonly FormField[]) =>
  z.strictObject(Object.fromEntries(fields.map((field) => [field.name, field.required ? schemaOf(field) : schemaOf(field).optional()])))

/** The values of a submitted form. Throws VALIDATION that names each wrong, missing or unknown field. */
export function readForm(fields: readonly FormField[], values: unknown): Variables {
  const read = formSchema(fields).safeParse(values)
  if (read.success) return read.data as Variables
  const reasons: FieldReason[] = read.error.issues.flatMap(({ path, message, ...issue }) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: `data.${key}`, reason: 'is no field of this form' }))
      : [{ path: ['data', ...path].join('.'), reason: message }],
  )
  throw problem('VALIDATION', `The form was not accepted: ${reasons.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, {
    details: reasons,
  })
}
