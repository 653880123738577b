import { useEffect, useRef } from 'react'
import { Button as AriaButton, Input, Label, ListBox, ListBoxItem, Popover, SearchField, Select, SelectValue } from 'react-aria-components'
import { hasKeys } from './controls.tsx'
import { useSearchState } from './search-state.ts'
import { isTyping } from './typing.ts'

/** Filters by text; the text is in the address as `q`. The key `/` goes here. */
export function TextFilter({ label, name = 'q' }: Readonly<{ label: string; name?: string }>) {
  const [search, change] = useSearchState()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isFirst = document.querySelector('.text-filter input') === input.current
      if (event.key !== '/' || !isFirst || event.ctrlKey || event.metaKey || isTyping(event.target)) return
      event.preventDefault()
      input.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  return (
    <SearchField
      className="text-filter"
      aria-label={label}
      value={search[name] ?? ''}
      onChange={(text) => change({ [name]: text || undefined })}
    >
      <Input ref={input} placeholder={hasKeys && name === 'q' ? `${label}  /` : label} />
    </SearchField>
  )
}

/** Filters by a day of the viewer's calendar; it is in the address under `name`. */
export function DayFilter({ label, name }: Readonly<{ label: string; name: string }>) {
  const [search, change] = useSearchState()
  return (
    <label className="choice-filter">
      {label}
      <input type="date" value={search[name] ?? ''} onChange={({ target }) => change({ [name]: target.value || undefined })} />
    </label>
  )
}

/** The first moment of a day of the viewer's calendar, or of the day after it, in UTC. Undefined for a text that is no day. */
export function startOfDay(day: string | undefined, { after = 0 } = {}): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day ?? '') ?? []
  return year ? new Date(Number(year), Number(month) - 1, Number(date) + after).toISOString() : undefined
}

export type Choice = Readonly<{ value: string; label: string }>

/** `none`: the word for no filter. */
type ChoiceFilterProps = Readonly<{ label: string; name: string; choices: readonly Choice[]; none?: string }>

/** Filters by one value; it is in the address under `name`. */
export function ChoiceFilter({ label, name, choices, none = 'all' }: ChoiceFilterProps) {
  const [search, change] = useSearchState()
  const items = [{ value: '', label: none }, ...choices]
  return (
    <Select className="choice-filter" value={search[name] ?? ''} onChange={(value) => change({ [name]: String(value) || undefined })}>
      <Label>{label}</Label>
      <AriaButton className="button plain">
        <SelectValue />
        <span aria-hidden="true">▾</span>
      </AriaButton>
      <Popover className="popover">
        <ListBox className="menu">
          {items.map(({ value, label: text }) => (
            <ListBoxItem key={value} id={value} className="menu-item" textValue={text}>
              {text}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </Select>
  )
}
