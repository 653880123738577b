import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isProblem } from '../../src/core/kit/index.ts'
import { loadRoleBook } from '../../src/daemon/users/index.ts'
import { decodeText, readUtf8, readUtf8Stream } from '../../src/node/index.ts'
import { readSettingsFile } from '../../src/node/settings-file.ts'
import { temporaryFolder } from '../support/command-line.ts'

const latin1 = Buffer.from('name: Mia\ntitle: Türen\n', 'latin1')

async function aFile(content: Buffer): Promise<string> {
  const file = join(await temporaryFolder(), 'file.yaml')
  await writeFile(file, content)
  return file
}

test.each([
  ['a text file', (file: string) => readUtf8(file)],
  ['a role book', (file: string) => loadRoleBook(file)],
  ['a settings file', async (file: string) => readSettingsFile(file, 'a: b')],
])('%s that is not UTF-8 is refused with the line, and never read with other letters', async (_, read) => {
  const file = await aFile(latin1)
  await expect(read(file)).rejects.toSatisfy(
    (error) => isProblem(error, 'CONFIG_INVALID') && error.message.startsWith(`Cannot read ${file}: line 2 is not UTF-8. fix: save it`),
  )
})

test('a byte order mark is no part of the text', async () => {
  expect(await readUtf8(await aFile(Buffer.from('\ufeffa: b\n')))).toBe('a: b\n')
})

test('a letter that arrives in two parts is read whole; stdin that is not UTF-8 is refused', async () => {
  const bytes = Buffer.from('Jörg')
  expect(await readUtf8Stream(partsOf(bytes.subarray(0, 2), bytes.subarray(2)))).toBe('Jörg')
  await expect(readUtf8Stream(partsOf(latin1))).rejects.toThrow(/^Cannot read stdin: line 2 is not UTF-8/)
})

async function* partsOf(...parts: Uint8Array[]) {
  yield* parts
}

test.each([
  [
    'Windows-1252 with its dash, apostrophe and Š',
    Buffer.from('Jörg \x96 O\x92Brien \x8akoda', 'latin1'),
    'Windows-1252',
    'Jörg – O’Brien Škoda',
  ],
  ['UTF-16 with the high byte first', Buffer.from('\ufeffJörg', 'utf16le').swap16(), 'UTF-16', 'Jörg'],
  ['UTF-16 without a byte order mark', Buffer.from('Jörg', 'utf16le'), 'UTF-16', 'Jörg'],
  ['UTF-16 without a mark, high byte first', Buffer.from('Jörg', 'utf16le').swap16(), 'UTF-16', 'Jörg'],
  ['UTF-8 with a byte order mark', Buffer.from('\ufeffJörg'), 'UTF-8', 'Jörg'],
  ['an empty file', Buffer.alloc(0), 'UTF-8', ''],
])('%s is recognised', async (_, bytes, encoding, text) => {
  expect(await decodeText(bytes)).toEqual({ text, encoding })
})

test.each([
  ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d])],
  ['half a letter of UTF-16', Buffer.concat([Buffer.from('\ufeffJörg', 'utf16le'), Buffer.from([0x41])])],
  ['letters of an old Mac', Buffer.from('J\x9arg M\x9fller', 'latin1')],
  ['letters of DOS', Buffer.from('J\x94rg', 'latin1')],
])('%s is not guessed', async (_, bytes) => {
  expect(await decodeText(bytes)).toBeUndefined()
})
