import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FileName, safeFileName } from '../../../src/core/files/file.ts'

import { declaredType, headBytes, inlineType } from '../../../src/core/files/index.ts'

const accepted = (name: string) => FileName.safeParse(name)

test.each([
  ['plan.pdf', 'plan.pdf'],
  ['  Übung 4b 🦆.docx ', 'Übung 4b 🦆.docx'],
  ['e\u0301.txt', '\u00e9.txt'],
  ['...', '...'],
  ['.profile', '.profile'],
])('the file name %j is accepted as %j', (input, name) => {
  expect(accepted(input).data).toBe(name)
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
])('the file name %j is refused', (input) => {
  expect(accepted(input).success).toBe(false)
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
])('the name %j sent by a program becomes %j', (sent, name) => {
  expect(safeFileName(sent)).toBe(name)
})

test('every name sent by a program becomes a valid name, which maps to itself', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc.constantFrom('.', '..', '/', ' .', '\u202e', '\ud800.', '\u200e.'),
  )
  fc.assert(
    fc.property(text, (sent) => {
      const name = safeFileName(sent)
      expect(accepted(name).data).toBe(name)
      expect(safeFileName(name)).toBe(name)
    }),
  )
})

const bytes = (text: string) => Buffer.from(text, 'latin1')

test.each([
  ['\x89PNG\r\n\x1a\n....', 'image/png'],
  ['\xff\xd8\xff\xe0....', 'image/jpeg'],
  ['GIF89a', 'image/gif'],
  ['RIFF....WEBPVP8 ', 'image/webp'],
  ['%PDF-1.7', 'application/pdf'],
  ['RIFF....WAVE', null],
  ['<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">', null],
  ['<!doctype html><script>', null],
  [' %PDF-1.7', null],
  ['\x89PN', null],
  ['', null],
])('content that begins with %j is displayed inline as %s', (head, type) => {
  expect(inlineType(bytes(head))).toBe(type)
  expect(inlineType(bytes(head).subarray(0, headBytes))).toBe(type)
})

test.each([
  ['image/PNG', 'image/png'],
  ['text/html; charset=utf-8', 'text/html'],
  ['application/vnd.oasis.opendocument.text', 'application/vnd.oasis.opendocument.text'],
  ['', 'application/octet-stream'],
  ['html', 'application/octet-stream'],
  ['text/html\r\nset-cookie: a=b', 'application/octet-stream'],
  ['a/b/c', 'application/octet-stream'],
  [`text/${'x'.repeat(150)}`, 'application/octet-stream'],
])('the declared type %j becomes %s', (declared, type) => {
  expect(declaredType(declared)).toBe(type)
})
