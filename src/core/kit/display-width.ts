const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u
const markOnly = /[\p{M}\u200d]/u

/** Columns that a text without escapes takes on a terminal. */
export function displayWidth(text: string): number {
  let columns = 0
  for (const character of text) columns += markOnly.test(character) ? 0 : wide.test(character) ? 2 : 1
  return columns
}

/** Text without its colours, which take no columns. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
export const bare = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, '')
