/** Marks that begin emphasis, code, links, images, HTML, tables or entities anywhere in a line. */
const anywhere = /[\\`*_[\]<>&|~@]/g
/** Marks that make a line a heading, an entry of a list or a rule, or underline the line before. */
const atLineStart = /^[ \t]*([#+=-])/gm
/** An entry of a numbered list. */
const numbered = /^[ \t]*(\d{1,9})([.)])/gm
/** Four spaces would begin code. */
const indent = /^[ \t]+(?=\S)/gm
/** Markdown viewers make a link of such a text. */
const address = /:\/\/|\bwww\./gi

/** A text that Markdown shows as it is, so that a value in a report cannot add a heading, a link, an image or HTML. */
export const escapeMarkdown = (text: string): string =>
  text
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(anywhere, '\\$&')
    .replace(address, (found) => (found === '://' ? ':\\//' : `${found.slice(0, -1)}\\.`))
    .replace(atLineStart, '\\$1')
    .replace(numbered, '$1\\$2')
    .replace(indent, ' ')

/** The text behind backslashes of Markdown. */
export const unescapeMarkdown = (text: string): string => text.replace(/\\([!-/:-@[-`{-~])/g, '$1')
