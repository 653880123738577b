import fc from 'fast-check'
import { expect, test } from 'vitest'
import { blocksOf, scriptRuns } from '../../../src/core/reports/index.ts'

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
