/** Takes control characters (terminal escapes among them) out of text that is not ours before a person sees it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
export const printable = (text: string): string => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd')

const space = '\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff'
const unseen = '\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069'
const anyUnseen = new RegExp(`[${unseen}]`)

/** Whether a name shows all that is in it: no control characters, and none that turn the direction of what follows. */
export const isVisible = (text: string): boolean => !anyUnseen.test(text)

/** `isVisible` of what is left without the space at its ends, and that there is something: for documents, which know of patterns only. */
export const visiblePattern = `^[${space}]*[^${space}${unseen}](?:[^${unseen}]*[^${space}${unseen}])?[${space}]*$`

/** At least `min` characters without the space at its ends: for documents, which know of patterns only. */
export const trimmedPattern = (min: number): string => (min < 2 ? `[^${space}]` : `[^${space}][\\s\\S]{${min - 2},}[^${space}]`)

/** Shortens each digest in a text to 12 characters, which still identify an image. */
export const shortDigests = (text: string): string => text.replace(/(sha256:[0-9a-f]{12})[0-9a-f]{52}/g, '$1')

/** `1 box`, `3 boxes`: counts as a person says them. */
export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** Durations as an operator reads them: `840 ms`, `12 s`, `3 min 20 s`, `2 h 05 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration as people write it, `90s`, `30m`, `2h` or `1d`, in milliseconds; undefined for anything else, and for none. */
export function periodMs(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  return unit && Number(amount) > 0 ? Number(amount) * unitMs[unit as keyof typeof unitMs] : undefined
}

/** Parses JSON; undefined for invalid JSON. */
export function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const units = ['B', 'kB', 'MB', 'GB', 'TB']

/** `4.1 MB`, in decimal units. */
export function bytesText(bytes: number): string {
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  const amount = bytes / 1000 ** unit
  return `${unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`
}

/** A text as one argument of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
