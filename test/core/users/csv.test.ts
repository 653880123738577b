import fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvCell, csvLines, isReserved, Localpart, planImport, type RoleBook } from '../../../src/core/users/index.ts'
import { readCsv } from '../../../src/daemon/users/read-csv.ts'

const book: RoleBook = { defaultRole: 'member', roles: { member: { capabilities: [] }, teacher: { capabilities: ['manageSpaces'] } } }
const cell = fc.oneof(
  fc.string(),
  fc.constantFrom('anna', 'Anna', ' anna ', 'admin', 'tenantry', 'teacher', 'member teacher', 'de', '=1+1', ''),
)
const rows = fc.array(fc.record({ username: cell, displayName: cell, roles: cell, locale: cell }), { maxLength: 30 })

test('every line is either planned or refused; planned users have unique valid names and known roles', () => {
  fc.assert(
    fc.property(rows, (cells) => {
      const { planned, refused } = planImport(
        book,
        cells.map((one, index) => ({ line: index + 2, cells: one })),
      )
      expect([...planned, ...refused].map(({ line }) => line).sort((a, b) => a - b)).toEqual(cells.map((_, index) => index + 2))
      expect(new Set(planned.map(({ localpart }) => localpart)).size).toBe(planned.length)
      for (const { localpart, roles } of planned) {
        expect(Localpart.safeParse(localpart).success && !isReserved(localpart)).toBe(true)
        expect(roles.length > 0 && roles.every((role) => role in book.roles)).toBe(true)
      }
      for (const { reason } of refused) expect(reason).toMatch(/./)
    }),
  )
})

/** Without blanks at its ends, which a file does not keep, and without the sign that makes a formula a text. */
const bare = (text = '') => text.trim().replace(/^'/, '').trim()

test('written CSV reads back unchanged, and no cell begins like a formula', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9]{0,9}$/)
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.string()), { minLength: 1, maxLength: 20 }), (users) => {
      const { rows: read } = readCsv(csvLines([['username', 'displayName'], ...users]))
      expect(read.map(({ cells }) => cells.username)).toEqual(users.map(([username]) => username))
      for (const [index, { cells }] of read.entries()) {
        expect(cells.displayName?.trimStart()).not.toMatch(/^[=+\-@]/)
        expect(bare(cells.displayName)).toBe(bare(users[index]?.[1]))
      }
    }),
  )
})

test.each([
  ['=SUM(A1)', `"'=SUM(A1)"`],
  ['+49', `"'+49"`],
  ['-1', `"'-1"`],
  ['@cmd', `"'@cmd"`],
  [' =1', `"' =1"`],
  ['\t=1', `"'\t=1"`],
  ['＝1', `"'＝1"`],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['anna', 'anna'],
  [null, ''],
  [-5, '-5'],
])('the cell %j is written as %s', (value, written) => expect(csvCell(value)).toBe(written))

test.each([
  ['jörg müller', 'joerg.mueller'],
  ['Jo\u0308rg', 'joerg'],
  ["o'brien", 'obrien'],
  ['Señora', 'senora'],
  ['_eva', 'eva'],
])('an invalid username %s is refused with a valid one like it', (username, name) => {
  expect(planImport(book, [{ line: 2, cells: { username } }]).refused[0]?.reason).toMatch(new RegExp(`. fix: write it as ${name}$`))
})
