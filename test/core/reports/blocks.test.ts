import fc from 'fast-check'
import { expect, test } from 'vitest'
import { blocksOf, escapeMarkdown, scriptRuns } from '../../../src/core/reports/index.ts'

const plain = (text: string) => [{ text, bold: false }]

test('the Markdown of a report becomes blocks', () => {
  const text = '# Alarm\n\nFirst line\nsecond **bold** end\n- one\n  - two\n2. three\n- [x] done\n> quoted\n---\n#hashtag'
  expect(blocksOf(text)).toEqual([
    { kind: 'heading', level: 1, spans: plain('Alarm') },
    { kind: 'paragraph', spans: [...plain('First line second '), { text: 'bold', bold: true }, ...plain(' end')] },
    { kind: 'item', depth: 0, marker: '•', spans: plain('one') },
    { kind: 'item', depth: 1, marker: '•', spans: plain('two') },
    { kind: 'item', depth: 0, marker: '2.', spans: plain('three') },
    { kind: 'item', depth: 0, marker: '•', spans: plain('(x) done') },
    { kind: 'quote', spans: plain('quoted') },
    { kind: 'rule' },
    { kind: 'paragraph', spans: plain('#hashtag') },
  ])
})

test('no letter of a text is lost, whatever its marks', () => {
  const letters = (text: string) => text.replace(/[^a-z]/g, '')
  const text = fc.array(fc.constantFrom('a', 'b', ' ', '\n', '#', '*', '**', '-', '>', '1. ', '[', ']', '|', '\t'), { maxLength: 60 })
  fc.assert(
    fc.property(text, (parts) => {
      const shown = blocksOf(parts.join('')).flatMap((block) => ('spans' in block ? block.spans.map((span) => span.text) : []))
      expect(letters(shown.join(''))).toBe(letters(parts.join('')))
    }),
  )
})

test('each character is written by the part of the font that has it', () => {
  expect(scriptRuns('Größe łódź Ωμέγα Привет 漢')).toEqual([
    { script: 'latin', text: 'Größe ' },
    { script: 'latin-ext', text: 'ł' },
    { script: 'latin', text: 'ód' },
    { script: 'latin-ext', text: 'ź ' },
    { script: 'greek', text: 'Ωμέγα ' },
    { script: 'cyrillic', text: 'Привет ' },
    { script: 'latin', text: '\ufffd' },
  ])
})

const attacks = [
  '# Heading',
  'fine\n# Heading',
  'title\n===',
  'title\n---',
  '- [x] done\n1. first\n2) second',
  '    code',
  '**bold** _it_ ~~gone~~ `code`',
  '[click](https://evil.example) ![](https://evil.example/x.png)',
  '<img src=x onerror=alert(1)> &lt;b&gt;',
  'https://evil.example www.evil.example a@evil.example',
  '| a | b |\n|---|---|',
  '> quote\r\n# Heading',
]

test.each(attacks)('an escaped value is plain text in Markdown and in the PDF: %j', (value) => {
  const markdown = escapeMarkdown(value)
  // Nothing that begins a mark stands without a backslash.
  const bare = markdown.replace(/\\[!-/:-@[-`{-~]/g, 'x')
  expect(bare).not.toMatch(/[`*_[\]<>&|~@]|:\/\/|www\.|^[ \t]*([#+=-]|\d+[.)])|^ {4}/m)
  const blocks = blocksOf(`${markdown}\n`)
  expect(blocks.every(({ kind }) => kind === 'paragraph')).toBe(true)
  const shown = blocks.flatMap((block) => ('spans' in block ? block.spans : []))
  expect(shown.every(({ bold }) => !bold)).toBe(true)
  const letters = (text: string) => text.replace(/\s+/g, '')
  expect(letters(shown.map(({ text }) => text).join(''))).toBe(letters(value))
})

test('any escaped value is shown as it was written', () => {
  const piece = fc.constantFrom('a', ' ', '\n', '#', '*', '**', '-', '>', '1.', '[', ']', '(', '|', '\\', '\\\\', '_', '=', '+', '<', '&')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (parts) => {
      const value = parts.join('')
      const blocks = blocksOf(escapeMarkdown(value))
      const shown = blocks.flatMap((block) => ('spans' in block ? block.spans.map(({ text }) => text) : []))
      expect(shown.join('').replace(/\s+/g, '')).toBe(value.replace(/\s+/g, ''))
      expect(blocks.every((block) => block.kind === 'paragraph' && block.spans.every(({ bold }) => !bold))).toBe(true)
    }),
  )
})
