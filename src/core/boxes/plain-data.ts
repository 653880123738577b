// Values from files of a host that may be compromised.

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** A name from such a file, safe to print. */
export const shown = (name: string): string =>
  /^[\w./:@ -]{1,80}$/.test(name) ? name : JSON.stringify(name.slice(0, 80).replace(/[^\x20-\x7e]/g, '?'))

const maxDepth = 6
const maxText = 2_000

/** Bounded data of scalars, lists and maps, without control characters. */
export function isPlainData(value: unknown, depth = 0): boolean {
  if (depth > maxDepth) return false
  if (typeof value === 'string') return isPlainText(value)
  if (Array.isArray(value)) return value.length <= 200 && value.every((one) => isPlainData(one, depth + 1))
  if (isRecord(value)) {
    const entries = Object.entries(value)
    return entries.length <= 200 && entries.every(([key, one]) => isPlainText(key) && isPlainData(one, depth + 1))
  }
  return value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}

const isPlainText = (text: string): boolean => text.length <= maxText && !/\p{Cc}/u.test(text)
