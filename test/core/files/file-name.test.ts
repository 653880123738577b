import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FileName, fileNameOf } from '../../../src/core/files/file-name.ts'

const accepted = (name: string) => FileName.safeParse(name)

test.each([
  ['plan.pdf', 'plan.pdf'],
  ['  Übung 4b 🦆.docx ', 'Übung 4b 🦆.docx'],
  ['e\u0301.txt', '\u00e9.txt'],
  ['...', '...'],
  ['.profile', '.profile'],
])('%j may be given, and is %j', (given, name) => {
  expect(accepted(given).data).toBe(name)
})

test.each([
  '',
  '  ',
  '.',
  '..',
  'a/b',
  '..\\b',
  '/etc/passwd',
  'a\nb',
  'a\u0000b',
  'a\u202efdp.exe',
  'a\ud800b',
  'ä'.repeat(128),
  'x'.repeat(256),
])('%j may not be given', (given) => {
  expect(accepted(given).success).toBe(false)
})

test.each([
  ['C:\\fakepath\\plan.pdf', 'plan.pdf'],
  ['../../etc/passwd', 'passwd'],
  ['a\r\nContent-Type: text', 'aContent-Type: text'],
  ['photo\u202egpj.exe', 'photogpj.exe'],
  ['..', 'file'],
  ['', 'file'],
  ['/', 'file'],
  [`${'ä'.repeat(300)}.pdf`, `${'ä'.repeat(125)}.pdf`],
])('%j that a program sent becomes %j', (sent, name) => {
  expect(fileNameOf(sent)).toBe(name)
})

test('whatever a program sends becomes a name that might have been given, and stays it', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc.constantFrom('.', '..', '/', ' .', '\u202e', '\ud800.', '\u200e.'),
  )
  fc.assert(
    fc.property(text, (sent) => {
      const name = fileNameOf(sent)
      expect(accepted(name).data).toBe(name)
      expect(fileNameOf(name)).toBe(name)
    }),
  )
})
