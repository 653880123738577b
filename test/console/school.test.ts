import { expect, test } from 'vitest'
import { closed } from '../../src/console/kit/closed.ts'
import { losesOnLeaving, type Part, sendParts } from '../../src/console/school/import-parts.ts'
import { passwordsFile, reportFile, shownLines } from '../../src/console/school/import-report.ts'
import { recordedActions } from '../../src/core/audit/index.ts'
import { problem } from '../../src/core/kit/index.ts'
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

const part = (at: number, nextLine: number | null, passwords: Part['passwords'] = {}): Part => ({
  ...{ dryRun: false, lines: [line(at, 'created')], notes: [], passwords, stopped: null, nextLine, encoding: null },
  counts: { created: 1 } as Part['counts'],
})

test('an import is sent part by part, and no further part once its page was left', async () => {
  const parts = [part(2, 3, { ben: 'a' }), part(3, 4, { mia: 'b' }), part(4, null)]
  const run = async (leaveAfter: number) => {
    const [sent, shown, page] = [[] as number[], [] as Part[], new AbortController()]
    const send = async (fromLine: number) => {
      sent.push(fromLine)
      if (sent.length === leaveAfter) page.abort()
      return parts[sent.length - 1] as Part
    }
    await sendParts({ send, onPart: (report) => shown.push(report), signal: page.signal })
    return { sent, passwords: shown.at(-1)?.passwords, lines: shown.at(-1)?.lines.length }
  }
  expect(await run(9)).toEqual({ sent: [1, 3, 4], passwords: { ben: 'a', mia: 'b' }, lines: 3 })
  expect(await run(2)).toEqual({ sent: [1, 3], passwords: { ben: 'a', mia: 'b' }, lines: 2 })
})

test('the page of an import is held while it runs, and until its passwords are downloaded', () => {
  const [first, all, none] = [part(2, 3, { ben: 'a' }), part(3, null, { ben: 'a', mia: 'b' }), part(2, null)]
  const holds = (isRunning: boolean, report?: Part, saved?: Part) => losesOnLeaving({ isRunning, report, saved })
  expect([holds(false), holds(true), holds(false, none), holds(false, all)]).toEqual([false, true, false, true])
  expect([holds(false, all, first), holds(false, all, all), holds(true, all, all)]).toEqual([true, false, true])
})

test('leaving an import is explained in each language', async () => {
  const file = '../../src/console/school/words/import-leave.ts'
  const { leaveWords } = await import(file)
  expect(Object.keys(leaveWords).sort()).toEqual(['de', 'en'])
  const texts = Object.values(leaveWords as Record<string, Record<string, string>>).flatMap((one) => Object.values(one))
  expect(new Set(texts.filter((text) => text !== '')).size).toBe(6)
})

test('a logout fails unless the session is closed or had ended', async () => {
  const away = problem('UNAVAILABLE', 'the daemon is away')
  await closed(Promise.resolve({}))
  await closed(Promise.reject(problem('UNAUTHENTICATED', 'no session')))
  await expect(closed(Promise.reject(away))).rejects.toBe(away)
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
