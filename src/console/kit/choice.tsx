import type { ReactNode } from 'react'
import { Checkbox, Input, Label, Radio, RadioGroup, Text, TextField, type TextFieldProps } from 'react-aria-components'
import { Icon } from './status.tsx'

type Choice = Readonly<{ value: string; label: ReactNode; disabled?: boolean }>
type ChoicesProps = Readonly<{ label: string; choices: readonly Choice[]; value: string | null; onChange(value: string): void }>

/** One of a few, each with its consequence in words. */
export const Choices = ({ label, choices, value, onChange }: ChoicesProps) => (
  <RadioGroup className="choices field" value={value} onChange={onChange}>
    <Label>{label}</Label>
    {choices.map((choice) => (
      <Radio key={choice.value} value={choice.value} isDisabled={choice.disabled ?? false} className="radio">
        <span className="dot" aria-hidden="true" />
        <span>{choice.label}</span>
      </Radio>
    ))}
  </RadioGroup>
)

type CheckProps = Readonly<{ isSelected: boolean; onChange(on: boolean): void; children: ReactNode }>

export const Check = ({ isSelected, onChange, children }: CheckProps) => (
  <Checkbox className="checkbox" isSelected={isSelected} onChange={onChange}>
    <span className="check">{isSelected ? <Icon tone="ok" /> : null}</span>
    <span>{children}</span>
  </Checkbox>
)

type FileFieldProps = Readonly<{ label: string; accept: string; onChange(file: File | undefined): void }>

export const FileField = ({ label, accept, onChange }: FileFieldProps) => (
  <label className="field file">
    <span>{label}</span>
    <input type="file" accept={accept} onChange={({ target }) => onChange(target.files?.[0])} />
  </label>
)

type FieldProps = Omit<TextFieldProps, 'className' | 'children'> &
  Readonly<{ label: string; hint?: string | undefined; error?: string | undefined; placeholder?: string }>

export const Field = ({ label, hint, error, placeholder, ...more }: FieldProps) => (
  <TextField className="field" autoComplete="off" isInvalid={error !== undefined} {...more}>
    <Label>{label}</Label>
    <Input {...(placeholder ? { placeholder } : {})} />
    {hint && !error && <Text slot="description">{hint}</Text>}
    {error && (
      <Text slot="description" className="field-error">
        {error}
      </Text>
    )}
  </TextField>
)
