import type { Variables } from './expression.ts'

/** Names that every run has beside its variables. */
export const runNames = ['board', 'run', 'startedAt', 'startedBy'] as const

const placeholder = /\{([A-Za-z][A-Za-z0-9_]{0,39})\}/g

/** The names of `{name}` in a text, each once. */
export const namesIn = (text: string): string[] => [...new Set([...text.matchAll(placeholder)].map(([, name]) => name as string))]

/** Characters of a filled text: a template can name a long value thousands of times. */
const maxLength = 1_000_000

type Options = Readonly<{ limit?: number; escapeValue?: (value: string) => string }>

/** Replaces each `{name}` by its value; a name without a value becomes `(none)` and is listed in `missing`. Values beyond the limit are cut. */
export function fillTemplate(text: string, values: Variables, { limit = maxLength, escapeValue = (value) => value }: Options = {}) {
  const missing = namesIn(text).filter((name) => !Object.hasOwn(values, name))
  const written = new Map<string, string>() // a template can name one value thousands of times: it is escaped once
  const textOf = (name: string): string => {
    const value = written.get(name) ?? (Object.hasOwn(values, name) ? escapeValue(String(values[name])) : '(none)')
    written.set(name, value)
    return value
  }
  let length = text.length
  const filled = text.replace(placeholder, (_, name: string) => {
    const value = textOf(name)
    if (length + value.length > limit) return '(too long)'
    length += value.length
    return value
  })
  return { text: filled, missing }
}
