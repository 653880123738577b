import type { FormField } from '../../core/boards/index.ts'
import type { Column } from '../kit/index.ts'

/** The fields of a form. */
export const fieldColumns: readonly Column<FormField>[] = [
  { title: 'FIELD', value: ({ name }) => name, priority: 1 },
  { title: 'TYPE', value: ({ kind }) => kind, priority: 1 },
  { title: 'REQUIRED', value: ({ required }) => (required ? 'yes' : 'no'), priority: 1 },
  { title: 'OPTIONS', value: (field) => (field.kind === 'choice' ? field.options.join(', ') : ''), priority: 2, minWidth: 10 },
  { title: 'LABEL', value: ({ label }) => label, priority: 3, minWidth: 8 },
]
