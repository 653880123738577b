import { Field } from '../kit/index.ts'

type InputProps = Readonly<{
  label: string
  value: string
  onChange(value: string): void
  autoComplete: string
  type?: string
  hint?: string
  error?: string | undefined
  autoFocus?: boolean
}>

/** A field that must be filled. */
export const Required = ({ autoFocus = false, ...more }: InputProps) => (
  <Field {...more} isRequired validationBehavior="aria" {...(autoFocus ? { autoFocus } : {})} />
)
