import { useEffect, useState } from 'react'
import type { SchoolSession } from '../../core/school/index.ts'
import { Check, CopyButton, useSearchState } from '../kit/index.ts'
import { useSession } from './queries.ts'
import { useWords } from './words.tsx'

export type Choice = Readonly<{ value: string; label: string }>
type SelectProps = Readonly<{ label: string; value: string; onChange(value: string): void; choices: readonly Choice[] }>

/** The list of the device itself: on a phone it is the one that is easy to use. */
export const Select = ({ label, value, onChange, choices }: SelectProps) => (
  <label className="select">
    <span>{label}</span>
    <select value={value} onChange={({ target }) => onChange(target.value)}>
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  </label>
)

/** Filters by one value; it is in the address under `name`. */
export function SelectFilter({ name, label, choices }: Readonly<{ name: string; label: string; choices: readonly Choice[] }>) {
  const words = useWords()
  const [search, change] = useSearchState()
  return (
    <Select
      label={label}
      value={search[name] ?? ''}
      onChange={(value) => change({ [name]: value || undefined })}
      choices={[{ value: '', label: words.all }, ...choices]}
    />
  )
}

/** A value once it was the same for a moment: not each letter is searched for. */
export function useSettled<Value>(value: Value, ms = 250): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

/** Texts of times and amounts in the language of the page. */
export function useFormats() {
  const { locale } = useWords()
  const time = (style: Intl.DateTimeFormatOptions) => (iso: string) => new Intl.DateTimeFormat(locale, style).format(new Date(iso))
  return {
    moment: time({ dateStyle: 'medium', timeStyle: 'short' }),
    day: time({ dateStyle: 'medium' }),
    /** A month such as `2026-11`. */
    month: (month: string) => time({ month: 'long', year: 'numeric', timeZone: 'UTC' })(`${month}-01T00:00:00Z`),
    money: ({ cents, currency }: Readonly<{ cents: number; currency: string }>) =>
      new Intl.NumberFormat(locale, { style: 'currency', currency: currency.toUpperCase() }).format(cents / 100),
  }
}

/** All roles with their titles: those that are shipped in the language of the page, others as the operator named them. */
export function useRoles(): SchoolSession['roles'] {
  const { roleTitles } = useWords()
  return useSession().roles.map((role) => ({ ...role, title: roleTitles[role.title] ?? role.title }))
}

/** Titles of roles by name. */
export function useRoleTitles(): (names: readonly string[]) => string {
  const roles = useRoles()
  const titles = new Map(roles.map(({ name, title }) => [name, title]))
  return (names) => names.map((name) => titles.get(name) ?? name).join(', ')
}

type RolesProps = Readonly<{ selected: readonly string[]; onChange(roles: readonly string[]): void }>

/** Roles to give out. One that allows more than the user's own stays as it is, and says why. */
export function RoleChoice({ selected, onChange }: RolesProps) {
  const words = useWords()
  const roles = useRoles()
  return (
    <fieldset className="field roles">
      <legend>{words.people.roles}</legend>
      {roles
        .filter(({ name, isGrantable }) => isGrantable || selected.includes(name))
        .map(({ name, title, isGrantable }) =>
          isGrantable ? (
            <Check
              key={name}
              isSelected={selected.includes(name)}
              onChange={(on) => onChange(on ? [...selected, name] : selected.filter((one) => one !== name))}
            >
              {title}
            </Check>
          ) : (
            <p key={name} className="dim">
              {title}: {words.people.beyondYou}
            </p>
          ),
        )}
    </fieldset>
  )
}

/** A password that is shown once. */
export function ShownPassword({ label, children }: Readonly<{ label: string; children: string }>) {
  const words = useWords()
  return (
    <div className="shown-password">
      <p className="dim">{label}</p>
      <p className="password">
        <code>{children}</code>
        <CopyButton text={children} />
      </p>
      <p>{words.shownOnce}</p>
    </div>
  )
}
