export type Selection = Readonly<{ selected: ReadonlySet<string>; onChange(selected: ReadonlySet<string>): void }>

export function withKey(selected: ReadonlySet<string>, key: string, on: boolean): ReadonlySet<string> {
  const next = new Set(selected)
  if (on) next.add(key)
  else next.delete(key)
  return next
}

export function SelectAll({ selected, onChange, keys }: Selection & Readonly<{ keys: readonly string[] }>) {
  const count = keys.filter((key) => selected.has(key)).length
  return (
    <Checkbox
      label="Select all rows of this list"
      isSelected={count > 0 && count === keys.length}
      isIndeterminate={count > 0 && count < keys.length}
      onChange={(on) => onChange(new Set(on ? keys : []))}
    />
  )
}

type CheckboxProps = Readonly<{ label: string; isSelected: boolean; isIndeterminate?: boolean; onChange(on: boolean): void }>

export const Checkbox = ({ label, isSelected, isIndeterminate = false, onChange }: CheckboxProps) => (
  <input
    type="checkbox"
    aria-label={label}
    checked={isSelected}
    ref={(input) => {
      if (input) input.indeterminate = isIndeterminate
    }}
    onChange={({ target }) => onChange(target.checked)}
  />
)
