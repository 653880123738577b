import type { Variables } from './expression.ts'

/** Names that every run has beside its variables. */
export const runNames = ['board', 'run', 'startedAt', 'startedBy'] as const

const placeholder = /\{([A-Za-z][A-Za-z0-9_]{0,39})\}/g

/** The names of `{name}` in a text, each once. */
export const namesIn = (text: string): string[] => [...new Set([...text.matchAll(placeholder)].map(([, name]) => name as string))]

/** Replaces each `{name}` by its value; a name without a value becomes `(none)` and is listed in `missing`. */
export function fillTemplate(text: string, values: Variables): { text: string; missing: string[] } {
  const missing = namesIn(text).filter((name) => !Object.hasOwn(values, name))
  const filled = text.replace(placeholder, (_, name: string) => (Object.hasOwn(values, name) ? String(values[name]) : '(none)'))
  return { text: filled, missing }
}
