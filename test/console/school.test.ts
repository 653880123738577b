import { expect, test } from 'vitest'
import { passwordsFile, reportFile, shownLines } from '../../src/console/school/import-report.ts'
import { recordedActions } from '../../src/core/audit/index.ts'
import type { ImportLine } from '../../src/core/users/index.ts'
import { planImport } from '../../src/core/users/index.ts'
import { loadRoleBook } from '../../src/daemon/users/index.ts'

const line = (at: number, outcome: ImportLine['outcome'], more: Partial<ImportLine> = {}): ImportLine => ({
  ...{ line: at, localpart: `user${at}`, displayName: null, outcome, reason: null },
  ...more,
})

test('each action of the record has words in each language', async () => {
  for (const language of ['en', 'de']) {
    // Through a variable: its types are those of a browser.
    const file = `../../src/console/school/words/${language}.ts`
    const words = (await import(file))[language]
    expect(Object.keys(words.record.actions).sort()).toEqual(Object.keys(recordedActions).sort())
    expect(Object.values(words.record.actions).filter((text) => text === '')).toEqual([])
  }
})

test('lines of an import that need a person come first, and the rest is cut', () => {
  const lines = [line(2, 'created'), line(3, 'refused'), line(4, 'created'), line(5, 'refused'), line(6, 'disabled')]
  expect(shownLines(lines, 4).map((one) => one.line)).toEqual([3, 5, 6, 2])
})

test('files of an import run no formula in a spreadsheet', () => {
  const lines = [line(2, 'created', { localpart: 'ben', displayName: '=cmd()' })]
  expect(reportFile({ lines })).toBe(`line,username,displayName,outcome,reason\r\n2,ben,"'=cmd()",created,\r\n`)
  expect(passwordsFile({ lines, passwords: { ben: 'aaaa-bbbb' } })).toBe(`username,displayName,password\r\nben,"'=cmd()",aaaa-bbbb\r\n`)
})

test('each shipped role has a German title', async () => {
  const file = '../../src/console/school/words/de.ts'
  const { roles } = await loadRoleBook('config/roles.yaml')
  expect(Object.keys((await import(file)).de.roleTitles)).toEqual(Object.values(roles).map(({ title }) => title))
})

const reasons: Parameters<typeof planImport>[1][number]['cells'][] = [
  { username: 'mia@school.example' },
  { username: 'Jörg Lang' },
  { username: '12345' },
  { username: '..' },
  { username: 'bot' },
  { username: 'ben', displayName: 'a\u0007b' },
  { username: 'ben', locale: 'german' },
  { username: 'ben', roles: 'king queen' },
  { username: 'ben', roles: 'member member' },
]

test('reasons of an import that are made here have a German text', async () => {
  const file = '../../src/console/school/words/de-reasons.ts'
  const { germanReason } = await import(file)
  const book = await loadRoleBook('config/roles.yaml')
  const rows = [...reasons, { username: 'anna' }, { username: 'anna' }].map((cells, line) => ({ line, cells }))
  const { refused } = planImport(book, rows)
  const inEnglish = refused.map(({ reason }) => String(reason))
  expect(inEnglish.length).toBeGreaterThanOrEqual(9)
  const left = inEnglish
    .map((reason) => [reason, germanReason(reason)])
    .filter(([, german]) => !german || /\b(must|fix|already|there is)\b/.test(german))
  expect(left).toEqual([])
  expect(germanReason('username is on line 9 already')).toBe('Der Anmeldename steht schon in Zeile 9')
  expect(
    germanReason('username must be lower-case letters, digits and . _ = / + -, not starting with _. fix: write it as joerg.lang'),
  ).toBe('Der Anmeldename darf nur Kleinbuchstaben, Ziffern und . _ = / + - haben und nicht mit _ beginnen. Abhilfe: joerg.lang schreiben')
  expect(germanReason('has the name "$1", in the file "Zoë"')).toBe('Heißt "$1", in der Datei "Zoë"')
  expect(germanReason('something new')).toBeUndefined()
})
