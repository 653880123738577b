import { type Finding, finding } from './findings.ts'

/** Direction controls, which show code in another order than it runs: refused in every text. */
const directions = '\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069'
/** Characters without a shape: names that look alike, or text that carries data unseen. U+FE0F and joiners are part of emoji. */
const invisible =
  '\\u00AD\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180E\\u200B\\u2060-\\u2064\\u3164\\uFE00-\\uFE0E\\uFEFF\\uFFA0\\u{E0000}-\\u{E01EF}'
const anywhere = new RegExp(`[${directions}]`, 'u')
const inCode = new RegExp(`[${directions}${invisible}]`, 'u')

/** The first hidden character of each line. A byte order mark at the very beginning is none. */
export function hiddenCharacters(file: string, text: string, isCode: boolean): readonly Finding[] {
  const pattern = isCode ? inCode : anywhere
  if (!pattern.test(text)) return []
  return text.split('\n').flatMap((line, index) => {
    const found = pattern.exec(line)
    if (!found) return []
    const name = `U+${found[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
    return [finding('hidden-characters', file, { detail: name, line: index + 1, column: found.index + 1 })]
  })
}

/** Joiners are allowed in text, but not in names. */
export const hasJoiner = (name: string): boolean => /[\u200C\u200D]/.test(name)
