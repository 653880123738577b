import { unescapeMarkdown } from './escape.ts'

/** A run of text in one weight. */
type Span = Readonly<{ text: string; bold: boolean }>

/** A line of a report. `depth`: how far a list entry is indented, from 0. */
export type Block =
  | Readonly<{ kind: 'heading'; level: 1 | 2 | 3; spans: readonly Span[] }>
  | Readonly<{ kind: 'item'; depth: number; marker: string; spans: readonly Span[] }>
  | Readonly<{ kind: 'paragraph' | 'quote'; spans: readonly Span[] }>
  | Readonly<{ kind: 'rule' }>

const maxDepth = 5
/** A longer word is broken, because no line holds it. */
const longWord = /\S{60}(?=\S)/g

/**
 * The blocks of the Markdown that reports use: headings, paragraphs, lists, quotes, rules, bold, backslashes. Other marks stay as text. Every line of the text
 * is in exactly one block, so nothing that was reported is lost.
 */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  let paragraph: string[] = []
  const endParagraph = () => {
    if (paragraph.length > 0) blocks.push({ kind: 'paragraph', spans: spansOf(paragraph.join(' ')) })
    paragraph = []
  }
  for (const line of markdown.split(/\r\n|[\n\r\u2028\u2029]/)) {
    const block = blockOf(line)
    if (block === undefined && line.trim() !== '') {
      paragraph.push(line.trim())
      continue
    }
    endParagraph()
    if (block) blocks.push(block)
  }
  endParagraph()
  return blocks
}

function blockOf(line: string): Block | undefined {
  const [, marks, title] = /^(#{1,6})[ \t]+(.*)$/.exec(line) ?? []
  if (marks !== undefined) return { kind: 'heading', level: Math.min(marks.length, 3) as 1 | 2 | 3, spans: spansOf(title ?? '') }
  if (/^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/.test(line)) return { kind: 'rule' }
  const [, indent, marker, rest] = /^([ \t]*)([-*+]|[0-9]{1,9}[.)])[ \t]+(.*)$/.exec(line) ?? []
  if (marker !== undefined)
    return { kind: 'item', depth: depthOf(indent ?? ''), marker: markerOf(marker), spans: spansOf(checkBox(rest ?? '')) }
  const [, quoted] = /^>[ \t]?(.*)$/.exec(line) ?? []
  return quoted === undefined ? undefined : { kind: 'quote', spans: spansOf(quoted) }
}

const depthOf = (indent: string): number => Math.min(maxDepth, Math.floor(indent.replaceAll('\t', '    ').length / 2))
const markerOf = (marker: string): string => (/^[-*+]$/.test(marker) ? '•' : marker)
const checkBox = (text: string): string => text.replace(/^\[ \] /, '( ) ').replace(/^\[[xX]\] /, '(x) ')

/** The text in its weights, without control characters. Marks that are not closed stay as text. */
function spansOf(text: string): Span[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern removes them
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ').normalize('NFC')
  // An escaped mark closes no bold text: a backslash is in front of each of its stars.
  const parts = clean.split(/(?<!\\)\*\*((?:[^*\\]|\\.)+)\*\*/)
  const spans = parts.map((part, at) => ({ text: unescapeMarkdown(part).replace(longWord, '$& '), bold: at % 2 === 1 }))
  return spans.filter((span) => span.text !== '')
}
