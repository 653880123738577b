import { expect, test } from 'vitest'
import { headBytes, saidType, shownType } from '../../../src/core/files/index.ts'

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
])('%j is shown as %s', (head, type) => {
  expect(shownType(bytes(head))).toBe(type)
  expect(shownType(bytes(head).subarray(0, headBytes))).toBe(type)
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
])('%j is said to be %s', (said, type) => {
  expect(saidType(said)).toBe(type)
})
