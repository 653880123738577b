import { type Finding, finding } from './findings.ts'

/** Direction controls, which show code in another order than it runs: refused in every text. */
const directions = '\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069'
/** Characters without a shape: names that look alike, or text that carries data unseen. U+FE0F and joiners are part of emoji. */
const invisible =
  '\\u00AD\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180E\\u200B\\u2060-\\u2064\\u3164\\uFE00-\\uFE0E\\uFEFF\\uFFA0\\u{E0000}-\\u{E01EF}'
const anywhere = new RegExp(`[${directions}]`, 'u')
const inCode = new RegExp(`[${directions}${invisible}]`, 'u')

/** A reviewer needs no more. */
const maxFound = 200

/**
 * The first hidden character of each line. A byte order mark at the very beginning is none. Lines are read one after the other: an array of millions
 * of them takes more memory than a scan has.
 */
export function hiddenCharacters(file: string, text: string, isCode: boolean): readonly Finding[] {
  const pattern = isCode ? inCode : anywhere
  const found: Finding[] = []
  if (!pattern.test(text)) return found
  for (let [start, line] = [0, 1]; start < text.length && found.length < maxFound; line++) {
    const end = text.indexOf('\n', start)
    const hidden = pattern.exec(text.slice(start, end < 0 ? text.length : end))
    if (hidden) found.push(finding('hidden-characters', file, { detail: nameOf(hidden[0]), line, column: hidden.index + 1 }))
    start = end < 0 ? text.length : end + 1
  }
  return found
}

const nameOf = (character: string): string => `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`

/** Joiners are allowed in text, but not in names. */
export const hasJoiner = (name: string): boolean => /[\u200C\u200D]/.test(name)
