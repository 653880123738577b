import { expect, test } from 'vitest'
import { readCsv } from '../../../src/daemon/users/read-csv.ts'

/** The largest files of an import: the daemon serves nobody else while it reads one. */
const bytes = 4_900_000
const filled = (head: string, line: string, end = '') => `${head}\n${`${line}\n`.repeat((bytes - head.length) / (line.length + 1))}${end}`

test.each<[what: string, csv: string]>([
  ['of millions of lines', filled('username', 'a')],
  ['of millions of lines with another number of cells', filled('username,name', 'a')],
  ['of lines with nothing but separators', filled('username', ',')],
  ['of lines with nothing but quotation marks and separators', filled('username', '"",')],
  ['of the most lines, with another number of cells', `username,name\n${'a\n'.repeat(19_990)}`],
  ['of the most cells, in columns without a name', `username${','.repeat(19_000)}\n${`a${','.repeat(98)}\n`.repeat(9_900)}`],
  ['of the widest lines', filled(`username${','.repeat(19_900)}`, `a${','.repeat(19_900)}`)],
  ['of brackets that are not closed', `username,${'['.repeat(19_900)}\nanna\n`],
  ['of quotation marks', filled('username', '"a"')],
])('a file %s is read in time', (_, csv) => {
  const before = process.cpuUsage()
  try {
    readCsv(csv, { ignoreColumns: true })
  } catch (error) {
    expect(String(error)).toMatch(/csv:/)
  }
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(3000)
})

test('lines that a spreadsheet filled up with separators are no lines, and count as lines of the file', () => {
  const blank = ';;;\n'.repeat(50_000)
  const { rows } = readCsv(`username;name\n${blank} ; \nanna;Anna\n${blank}`)
  expect(rows).toEqual([{ line: 50_003, cells: { username: 'anna', displayName: 'Anna', roles: '', locale: '' } }])
})
