import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { planImport, type RoleBook } from '../../../src/core/users/index.ts'
import { readCsv } from '../../../src/daemon/users/read-csv.ts'
import { decodeText, decodeTextAs } from '../../../src/node/index.ts'

const book: RoleBook = { defaultRole: 'member', roles: { member: { capabilities: [] } } }
const folder = new URL('../../fixtures/school-exports/', import.meta.url)
const bytesOf = (file: string): Promise<Buffer> => readFile(new URL(file, folder))
const two = ['joerg.mueller: Jörg Müller', 'aenne.gross: Änne Groß']

// Headers, separators and encodings of public samples; the names are invented.
test.each([
  ['asv.csv', 'Windows-1252', two],
  ['iserv.csv', 'Windows-1252', two],
  ['moodle.csv', 'UTF-8', ['joerg.mueller: Jörg Müller', "zoe: Zoë O'Brien, jun."]],
  ['google.csv', 'UTF-8', two],
  ['school-data-sync.csv', 'UTF-8', two],
  ['powerschool.text', 'Windows-1252', ['jnunez: José Nuñez', 'asmith: Ann Smith']],
  ['magister.csv', 'Windows-1252', ['zvdberg: Zoë van der Berg', 'dvries: Daan Vries']],
  ['pronote.txt', 'UTF-16', ['c.lefevre: Chloé Lefèvre', 'n.doeuvre: Noël D’Œuvre']],
  ['schild-mail.csv', 'Windows-1252', two],
  ['schulmanager.csv', 'UTF-8', two],
  ['winschule.csv', 'Windows-1252', two],
  ['isams.csv', 'Windows-1252', ['zobrien: Zoë O’Brien', 'asmith: Ann Smith']],
  ['powerschool-teachers.text', 'UTF-8', ['jnunez: José Nuñez', 'asmith: Ann Smith']],
  ['magister-account.csv', 'UTF-8', ['zvdberg: Zoë van der Berg', 'dvries: Daan Vries']],
  ['pronote-liste.csv', 'Windows-1252', ['c.lefevre: Chloé LEFÈVRE', 'n.doeuvre: Noël DŒUVRE']],
])('%s is recognised as %s and imported with all letters', async (file, encoding, users) => {
  const decoded = await decodeText(await bytesOf(file))
  expect(decoded?.encoding).toBe(encoding)
  const { rows } = readCsv(decoded?.text ?? '', { ignoreColumns: true })
  const { planned, refused } = planImport(book, rows)
  expect(refused).toEqual([])
  expect(planned.map(({ localpart, displayName }) => `${localpart}: ${displayName}`)).toEqual(users)
})

test.each([
  ['schild.dat', /no column has the usernames.*"Nachname", "Vorname".*fix: add a column username/],
  ['untis-gpu010.txt', /no column has the usernames.*"MuelJoer", "Müller"/],
  ['webuntis.csv', /no column has the usernames.*"longName", "foreName"/],
  ['untis-gpu004.txt', /no column has the usernames. The first line has to name the columns, and is: "Mue", "Müller"/],
  ['asv-stamm.csv', /no column has the usernames.*"Familienname", "Rufname", "Schüler\/in E-Mail privat"/],
  ['kita.csv', /no column has the usernames.*"Kind Nachname", "Kind Vorname", "Gruppe"/],
])('%s has no usernames, and is refused with its columns and what to add', async (file, reason) => {
  const decoded = await decodeText(await bytesOf(file))
  expect(() => readCsv(decoded?.text ?? '', { ignoreColumns: true })).toThrow(reason)
})

test.each(['asv.xml', 'edupage.xls'])('%s is no table, and is refused with what to do', async (file) => {
  const decoded = await decodeText(await bytesOf(file))
  expect(() => readCsv(decoded?.text ?? '', { ignoreColumns: true })).toThrow('the file is XML or a web page. fix: export it as CSV')
})

test('a file of a DOS program is not read as Windows-1252, and is read when its encoding is named', async () => {
  const bytes = await bytesOf('dos.csv')
  expect(await decodeText(bytes)).toBeUndefined()
  expect(await decodeTextAs(bytes, 'cp850')).toEqual({ text: 'username;displayName\r\njoerg;Jörg Müller\r\n', encoding: 'cp850' })
  expect(await decodeTextAs(bytes, 'klingon')).toBe('unknown')
  expect(await decodeTextAs(bytes, 'utf-8')).toBeUndefined()
})

test('columns that an import does not use are refused by name, or ignored and noted', async () => {
  const { text = '' } = (await decodeText(await bytesOf('google.csv'))) ?? {}
  expect(() => readCsv(text)).toThrow(/does not use the columns Password \[Required\], Password Hash.*fix: pass --ignore-columns/)
  expect(readCsv(text, { ignoreColumns: true }).notes).toEqual([
    'Usernames: "Email Address [Required]" without @schule.example',
    'Names: "First Name [Required]" and "Last Name [Required]"',
    'Ignored columns: Password [Required], Password Hash Function [UPLOAD ONLY], Org Unit Path [Required]',
  ])
})

const anna = { username: 'anna', displayName: 'Anna', roles: '', locale: '' }
test.each([
  ['a line sep=', 'sep=;\r\nusername;displayName\r\nanna;Anna\r\n', 3],
  ['a byte order mark and a line sep=', '\ufeffsep=|\nusername|displayName\nanna|Anna\n', 3],
  ['a header in another case', 'UserName,DISPLAYNAME\nanna,Anna\n', 2],
  ['a separator at the end', 'username;displayName;\r\nanna;Anna;\r\n', 2],
  ['separators at the end of the lines alone', 'username;displayName\r\nanna;Anna;;\r\n', 2],
  ['semicolons in a quoted header', '"username","displayName","roles"\n"anna","Anna",\n', 2],
  ['empty lines of separators', 'username;displayName\n;\nanna;Anna\n', 3],
  ['line ends of old Macs', 'username,displayName\ranna,Anna\r', 2],
])('a file with %s is read', (_, csv, line) => {
  expect(readCsv(csv).rows).toEqual([{ line, cells: anna }])
})

test('a cell of several lines is read where it cannot be other users', () => {
  const { rows } = readCsv('username;note\nanna;"likes\nfish"\nben;\n', { ignoreColumns: true })
  expect(rows.map(({ line, cells }) => [line, cells.username])).toEqual([
    [2, 'anna'],
    [4, 'ben'],
  ])
})

test('decomposed letters are composed, and quotation marks in a cell stay', () => {
  expect(readCsv('username,displayName\nanna,Jo\u0308rg "Jo" M\n').rows[0]?.cells.displayName).toBe('J\u00f6rg "Jo" M')
})

test.each([
  ['username,displayName\nanna,J\ufffdrg\n', /line 2 has a letter that was lost/],
  ['username,displayName,,\nanna,Anna,,x\n', /does not use the columns column 4/],
  ['username,Benutzername,USERNAME\na,b,c\n', /names the column "username" twice/],
  ['username;displayName\nanna;"Anna "Ann" M"\n', /line 2: a cell in quotation marks has more of them inside. fix: delete/],
  ['username;displayName\nanna;A\nben;"Ben\n', /a quotation mark that is not closed up to the end of the file. fix: delete/],
  [`username;displayName\nanna;"${'x'.repeat(20_001)}\n`, /line 2 is longer than 20000 characters/],
  ['username;class\nanna;A\nben;"B\ncarl;C";\ndora;D\n', /line 3: a quotation mark in the column class takes in the lines after it/],
])('a damaged file is refused: %j', (csv, reason) => {
  expect(() => readCsv(csv)).toThrow(reason)
  try {
    readCsv(csv)
  } catch (error) {
    expect(isProblem(error, 'VALIDATION')).toBe(true)
  }
})

test('mail addresses of several domains are refused line by line', () => {
  const { rows } = readCsv('username\nanna@one.example\nben@two.example\n')
  expect(planImport(book, rows).refused.map(({ reason }) => reason)).toEqual(
    Array(2).fill('username is a mail address. fix: keep the part before the @'),
  )
})
